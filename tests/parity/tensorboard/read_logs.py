"""read_logs.py DIR: reads what write_logs has written with Python's tensorboard; a line "ok" or "not ok" per fact."""

import csv
import io
import json
import math
import sys
from pathlib import Path

from PIL import Image
from tensorboard.backend.event_processing import data_provider, event_accumulator, plugin_event_multiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups
from tensorboard.util import tensor_util

bad = 0


def check(what, actual, expected):
    global bad
    good = actual == expected
    bad += not good
    print(f"ok - {what}" if good else f"not ok - {what}: expected {expected}, got {actual}")


def load(folder):
    events = event_accumulator.EventAccumulator(str(folder), size_guidance={"images": 0, "histograms": 0})
    events.Reload()
    return events


def scalars(folder, tag="loss"):
    return [(event.step, event.value) for event in load(folder).Scalars(tag)]


def check_scalars(root):
    losses = [(0, 1.0), (1, 0.5), (2, 0.25)]
    check("scalars have their steps and values", scalars(root / "plain"), losses)
    check("epoch is a scalar", scalars(root / "plain", "epoch"), [(0, 0.0), (1, 0.0), (2, 1.0)])
    check("what was flushed is readable after SIGKILL", scalars(root / "killed"), losses[:2])
    check("a resumed log has each step once", scalars(root / "resumed"), losses)
    # The torn file keeps step 0; step 1, whose record was cut, is gone.
    check("a lost end leaves each step once", scalars(root / "purged"), [losses[0], losses[2]])
    check("nan is a scalar", math.isnan(scalars(root / "runs/version_0", "not_finite")[0][1]), True)
    check("infinity is a scalar", scalars(root / "runs/version_0", "infinite"), [(1, math.inf)])


def check_kinds(root):
    events = load(root / "kinds")
    tags = events.Tags()
    check("histograms are histograms", sorted(tags["histograms"]), ["constant", "nothing", "weights"])
    weights = events.Histograms("weights")[0]
    value = weights.histogram_value
    check("a histogram has step and sums", (weights.step, value.min, value.max, value.num, value.sum, value.sum_squares),
          (5, 0.0, 60.0, 4.0, 62.0, 3602.0))
    check("a histogram has 30 buckets", (list(value.bucket), value.bucket_limit[0], value.bucket_limit[-1]),
          ([3.0] + 28 * [0.0] + [1.0], 2.0, 60.0))
    check("a constant has one bucket", list(events.Histograms("constant")[0].histogram_value.bucket), [3.0])
    check("images are images", sorted(tags["images"]), ["bytes", "grey"])
    image = Image.open(io.BytesIO(events.Images("bytes")[0].encoded_image_string))
    check("an image has its pixels", (image.mode, image.size, image.tobytes()),
          ("RGB", (4, 2), bytes(c * 8 + i for i in range(8) for c in range(3))))
    image = Image.open(io.BytesIO(events.Images("grey")[0].encoded_image_string))
    check("grey values are clamped", (image.mode, image.size, image.tobytes()),
          ("L", (3, 2), bytes([0, 0, 128, 255, 255, 0])))
    check("text has the plugin of texts", list(events.PluginTagToContent("text")), ["note"])
    note = events.Tensors("note")[0]
    check("text is mended UTF-8", (note.step, tensor_util.make_ndarray(note.tensor_proto).item().decode()),
          (6, "**bold** \u00e4 \ufffd"))


def hparams_context(root):
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(root / "runs"))
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, str(root / "runs"))
    return backend_context.Context(base_plugin.TBContext(data_provider=provider, multiplexer=multiplexer))


def check_data_plugins(root):
    """What TensorBoard's own pages ask its data provider for."""
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRun(str(root / "kinds"), "kinds")
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, str(root))
    for plugin, tags in {"histograms": ["constant", "nothing", "weights"], "text": ["note"]}.items():
        found = provider.list_tensors(RequestContext(), experiment_id="", plugin_name=plugin)
        check(f"the {plugin} page finds its data", sorted(found.get("kinds", {})), tags)
    found = provider.list_blob_sequences(RequestContext(), experiment_id="", plugin_name="images")
    check("the images page finds its data", sorted(found.get("kinds", {})), ["bytes", "grey"])


def check_hparams(root):
    context = hparams_context(root)
    request = RequestContext()
    data = context.hparams_metadata(request, "")
    experiment = get_experiment.Handler(request, context, "", api_pb2.GetExperimentRequest()).run()
    check("HPARAMS has the columns of all runs", sorted(info.name for info in experiment.hparam_infos),
          ["data.shuffle", "limit", "model.class", "optimizer.lr"])
    metrics = sorted(info.name.tag for info in experiment.metric_infos)
    check("HPARAMS has the metrics", [name for name in metrics if "loss" in name], ["loss", "val_loss"])
    asked = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=10, allowed_statuses=[api_pb2.STATUS_SUCCESS])
    for info in experiment.metric_infos:
        asked.col_params.add().metric.CopyFrom(info.name)
    groups = list_session_groups.Handler(request, context, "", asked).run().session_groups
    rows = []
    for group in groups:
        values = {metric.name.tag: metric.value for metric in group.metric_values}
        rows.append((group.hparams["optimizer.lr"].number_value, values["val_loss"],
                     group.hparams["model.class"].string_value, group.hparams["data.shuffle"].bool_value,
                     group.hparams["limit"].string_value))
    check("HPARAMS has a row per run", sorted(rows), [(0.001, 0.5, "Gpt", True, "inf"), (0.01, 0.25, "Gpt", True, "inf")])
    check("sessions have a start and an end", sorted(data["version_0"]),
          ["_hparams_/session_end_info", "_hparams_/session_start_info"])


def check_rows(root):
    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    rows = [json.loads(line, parse_constant=refuse) for line in open(root / "rows/metrics.jsonl", encoding="utf-8")]
    check("a line is an object", rows[0], {"step": 0, "epoch": 0, 'a,"b': 1 / 3})
    check("what is not finite reads with float()", (math.isnan(float(rows[1]["nan"])), float(rows[1]["inf"])),
          (True, -math.inf))
    table = list(csv.DictReader(open(root / "rows/metrics.csv", encoding="utf-8", newline="")))
    check("a row is a dict", table[0], {"step": "0", "epoch": "0", 'a,"b': repr(1 / 3), "nan": "", "inf": ""})
    check("cells read with float()", (math.isnan(float(table[1]["nan"])), float(table[1]["inf"])), (True, -math.inf))


root = Path(sys.argv[1])
check_scalars(root)
check_kinds(root)
check_data_plugins(root)
check_hparams(root)
check_rows(root)
sys.exit(bad > 0)
