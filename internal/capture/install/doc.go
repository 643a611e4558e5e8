// Package install writes the hook configuration of agents, so that they call
// `publisher hook`.
//
// [Plan] reads what is there and says what would become of it, [Change.Diff]
// shows it and [Change.Apply] writes it. A configuration that others write too
// is changed as text: what is not ours keeps its order, its comments and its
// indentation, byte for byte. Planning again changes nothing. A file that cannot
// be understood is refused with its line and column, and left alone.
//
// Taking the hooks out again leaves the file as it was before; only lists and
// objects that have become empty by that go too, and a file of which nothing but
// an empty object is left.
package install
