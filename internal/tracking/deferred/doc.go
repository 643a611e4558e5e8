// Package deferred finds deferred work in the English texts that agents write at the end of a
// step: follow-ups, next steps and omissions that a person would file an issue for.
//
// It reads each line and sentence. A label ("Follow-up: …", "Next steps:" above a list, a
// heading "Remaining") turns the text behind it into an item. Numbers and semicolons separate
// several items. Behind a label for remaining work, commas between short names do too. A clause
// with a cue ("deferred the lexer", "the lexer is out of scope", "I did not add tests") gives
// one item.
//
// Denials ("no follow-up needed"), finished work ("removed all TODO comments"), conditions,
// questions and offers give no item. Neither do code, quotations, quoted lines, tables and
// other languages. Some texts only look like a cue: a "todo list" is a product, "3 skipped" is
// a test result, and "2 convoys remain open" is a status. In doubt, the package misses an item
// rather than inventing one.
//
// The words of an item are in the text in this order. Only an ellipsis is added when an item is
// cut. All functions are pure. They read the last 16 KiB of a text, in time proportional to its
// length.
//
// The files testdata/sentences.jsonl, with labelled texts, and testdata/real.jsonl, with labels
// for recorded sessions, measure the cues. Do not tune cues with the texts marked "held-out".
// Add a sentence to the group "dev" before adding a cue.
package deferred
