// Package deferred finds deferred work in the English texts that agents write at the end of a step.
// Deferred work is a follow-up, a next step or an omission that deserves an issue.
//
// It reads each line and each sentence, and recognises labels and cues.
//
// A label is a phrase such as "Follow-up: …", "Next steps:" above a list, or a heading "Remaining".
// The text after a label is an item. Numbers and semicolons separate several items. After a label
// for remaining work, commas between short names also do.
//
// A cue is a phrase within a clause, as in "deferred the lexer", "the lexer is out of scope" or "I
// did not add tests". A clause with a cue gives one item.
//
// Denials ("no follow-up needed"), finished work ("removed all TODO comments"), conditions,
// questions and offers give no items. Neither do code, quotations, tables and other languages. In
// doubt, the package misses an item.
//
// An item consists of words of the text in their order. All functions are pure. They read only the
// last 16 KiB of a text, in linear time.
//
// To add a cue, first add a sentence to the group "dev" of testdata/sentences.jsonl. That file and
// the recorded sessions in testdata/real.jsonl measure the quality. Do not tune cues with the texts
// marked "held-out".
package deferred
