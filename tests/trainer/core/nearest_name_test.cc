#include "trainer/core/nearest_name.h"

#include <gtest/gtest.h>

namespace levin {
namespace {

TEST(NearestNameTest, NearNameIsSuggested) {
  EXPECT_EQ(suggest_name("max_epoch", {"max_steps", "max_epochs"}), "; did you mean \"max_epochs\"?");
  EXPECT_EQ(suggest_name("ft", {"fit", "test"}), "; did you mean \"fit\"?");
  EXPECT_EQ(suggest_name("precison", {"precision"}), "; did you mean \"precision\"?");
}

TEST(NearestNameTest, CaseDoesNotCount) {
  EXPECT_EQ(suggest_name("ADAMW", {"SGD", "Adam", "AdamW"}), "; did you mean \"AdamW\"?");
}

TEST(NearestNameTest, NearestOfSeveralIsSuggested) {
  EXPECT_EQ(suggest_name("Adamw", {"Adam", "AdamW", "Adamax"}), "; did you mean \"AdamW\"?");
}

TEST(NearestNameTest, LongNamesMayDifferInAThird) {
  EXPECT_EQ(suggest_name("check_val_every_epoch", {"check_val_every_n_epoch"}),
            "; did you mean \"check_val_every_n_epoch\"?");
}

TEST(NearestNameTest, WithoutANearNameAllAreListed) {
  EXPECT_EQ(suggest_name("temperature", {"lr", "momentum"}), "; known: lr, momentum");
}

TEST(NearestNameTest, NothingKnownSaysNothing) { EXPECT_EQ(suggest_name("a", {}), ""); }

}  // namespace
}  // namespace levin
