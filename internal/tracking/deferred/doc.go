// Package deferred finds work that was put off in what agents write, in English,
// at the end of a step: the follow-ups, next steps and things left out that a
// person would file an issue for.
//
// It reads line by line and sentence by sentence. A label ("Follow-up: …",
// "Next steps:" and the list below it, a heading "Remaining") makes an item of
// what it names, and several of what it numbers or parts by semicolons; behind
// one for what remains, short names between commas are several as well. A clause
// ("deferred the lexer", "the lexer is out of scope", "I did not add tests") makes
// one of what it says. Neither counts when it is denied ("no follow-up needed"),
// undone ("removed all TODO comments"), a condition, a question or an offer, nor
// where it is shown and not said: code, quotations, quoted lines, tables. What
// only looks like a cue is none: a "todo list" is a product, "3 skipped" the
// outcome of a test run, "2 convoys remain open" a status. In doubt an item is
// missed rather than invented.
//
// The words of an item stand in the text in this order; nothing is added but an
// ellipsis where one is cut. All functions are pure, give the same answer for
// the same text, and take time in proportion to it. Of a text longer than 16 KiB
// the end is read, where such things are said: whatever is passed, the work is
// bounded.
//
// Other languages have no cues here, and so no items.
//
// The cues are measured by testdata/sentences.jsonl, labelled texts, and
// testdata/real.jsonl, which points at labelled passages of recorded sessions.
// The texts of the first that are marked "held-out" are kept from who tunes the
// cues: the test prints figures for both parts, and lists what went wrong in the
// part "dev" alone. A new way to put work off gets its sentence there first.
package deferred
