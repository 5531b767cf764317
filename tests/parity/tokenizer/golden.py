"""Trains small byte-level BPE tokenizers and writes how they encode; called by make_golden.sh.

gpt2_style: the split of GPT-2 inside ByteLevel. llama3_style: a Split of its own before ByteLevel, and ignore_merges.
qwen2_style: the same with other digits, and the normalizer NFC.
"""

import json
import pathlib
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
WORDS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
REST = "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

TRAINING_TEXT = [
    "The model trains on the text that the tokenizer has made into tokens, and it's the training that we've timed.",
    "They're sure that I'd say it isn't there; you'll see what we'll do, and what he's done.",
    "for (int i = 0; i < 100; ++i) {\n    total += values[i];\n    if (total > 1000) return;\n}\n",
    "In 2024 there were 1234567 tokens, 12 files and 365 days.   Three spaces,\t a tab.\n\n\nThree lines.",
    "Größere Straßen führen über die Brücke; die Äpfel schmecken süß. Élève, naïve, café, cœur.",
    "Привет мир, это небольшой текст. 你好世界,这是一个小文本。こんにちは世界。안녕하세요 세계.",
    "Emoji: 🙂 🙂🙂 👩‍👩‍👧 🇩🇪 ❤️. Punctuation... !!! ??? --- *** === \"quoted\" 'single' (brackets) [1] {2}",
]

HAND_MADE = [
    "", " ", "  ", "\n", "\n\n", " \n", "\n ", "\t", "a", " a", "a ", "  a  ", "Hello, world!", "hello   world",
    "it's we've I'M they'LL 'tis 's s' ''s 'S 'Re x'\u017f", "tabs\tand\nlines\r\nand\r\n\r\nmore\n\n  indented\n\tboth \n x",
    "trailing spaces   \n", "trailing   ", "1 12 123 1234 12345 1,234.56 ٣٤ ² ½ Ⅷ", "x = y+1; // done\n#include <a.h>",
    "Größe naïve café cafe\u0301 e\u0301\u0323 o\u0323\u0302 \u0301 a\u0301\u0301", "\u212b \ufb01 \u1e9b\u0323 \uac00 \u1100\u1161\u11a8 \u0958",
    "你好,世界! 这是一个测试。 日本語のテキスト\u3000全角", "مرحبا بالعالم שלום हिन्दी ไทย", "🙂🙂 👩‍👩‍👧‍👦 🇩🇪 ❤️ 👍🏽",
    "a\u00a0b\u2003c\u200bd\u180ee\u0085f\u2028g\u001ch\u0000i\ufeffj", "<|endoftext|>", "a<|endoftext|>b", " <|endoftext|> ",
    "<|endoftext|><|endoftext|>\n<|endoftext|", "<|endof", "a <|user|> b<|user|><|user|>x", "<|userx|>", "caf\u00e9|tool e\u0301|tool",
    "\U00010348\U0010ffff\U0001f9ff", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "thetokenizertrainsonthetext" * 20, "ab\n\ncd\n \n ef\r\r\n  gh.\n\n!\n? \r\n.", "_foo_bar __x__ a_b", "-- --x --1 - 1 ...a",
]  # fmt: skip


def random_texts(count):
    rng = random.Random(7)
    pieces = ["the", " the", "tokenizer", " a", "e", "'s", "'", "'ll", " ", " ", "  ", "\n", "\r\n", "\t", "1", "23", "4567",
              "é", "e\u0301", "\u0323", "ß", "Я", "你", "好", "한", "🙂", "\u200d", "\u00a0", "\u3000", ".", ",", "!", "--", "(", "_",
              "<|endoftext|>", "<|user|>", "<|", "|>", "X", "Hello", "\u180e", "\u0085", "²", "ſ"]  # fmt: skip
    return ["".join(rng.choices(pieces, k=rng.randint(1, 24))) for _ in range(count)]


def make(name, pre_tokenizer, ignore_merges=False, normalizer=None):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=640,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TRAINING_TEXT * 3, trainer)
    tokenizer.add_special_tokens(["<|user|>"])
    tokenizer.add_tokens([AddedToken("é|tool", normalized=True)])
    tokenizer.save(str(HERE / f"{name}.json"), pretty=False)
    # Some files write merges as texts, some as pairs.
    if name == "gpt2_style":
        content = json.loads((HERE / f"{name}.json").read_text())
        content["model"]["merges"] = [" ".join(pair) for pair in content["model"]["merges"]]
        (HERE / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False))
        tokenizer = Tokenizer.from_file(str(HERE / f"{name}.json"))
    cases = [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in HAND_MADE + random_texts(300)]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (HERE / f"{name}_golden.json").write_text(f"[\n{lines}\n]\n")


def split(digits):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(WORDS + digits + REST), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip


make("gpt2_style", pre_tokenizers.ByteLevel(add_prefix_space=False))
make("prefix_space", pre_tokenizers.ByteLevel(add_prefix_space=True))
make("llama3_style", split("{1,3}"), ignore_merges=True)
make("qwen2_style", split(""), normalizer=normalizers.NFC())
