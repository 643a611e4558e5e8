// Package install adds `publisher hook` to the hook configuration of agents.
//
// [Plan] reads the configuration and computes the change, [Change.Diff] shows it
// and [Change.Apply] writes it. Edits insert and delete text, so that foreign
// settings keep their order, comments and indentation byte for byte. A second
// Plan changes nothing. Plan refuses a file that it cannot parse and reports the
// line and column.
//
// Uninstalling restores the file. Lists and objects that become empty are
// removed, and so is a file that holds only an empty object.
package install
