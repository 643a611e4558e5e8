// Package install adds `publisher hook` to the hook configuration of agents.
//
// [Plan] reads the configuration and computes the change, [Change.Diff] shows it and
// [Change.Apply] writes it. An edit inserts or deletes text in place. All other
// settings keep their order, comments and indentation byte for byte. Installing a
// second time changes nothing. Plan rejects a file that it cannot parse, and its error
// contains the line and column.
//
// Uninstalling restores the file. It removes lists and objects that become empty. It
// also removes the file if only an empty object is left.
package install
