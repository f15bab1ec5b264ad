/* SPDX-License-Identifier: MIT */
/*
 * cfi_rule_publish.h - a rule in the shape that the shim follows.
 */
#ifndef MEMATTACH_CFI_RULE_PUBLISH_H
#define MEMATTACH_CFI_RULE_PUBLISH_H

#include "inject/abi/rules_abi.h"
#include "src/unwind/cfi_rule.h"

/* RULES_COPY for what has no such shape, or would not lead to exactly the walker's frame. */
struct rules_rule cfi_rule_publish(const struct cfi_rule *rule);

#endif
