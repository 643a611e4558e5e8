// Package install adds `publisher hook` to the hook configuration of agents.
//
// [Plan] reads the configuration and computes the change, [Change.Diff] shows it and [Change.Apply]
// writes it. An edit works in place, and all other settings stay unchanged byte for byte.
// Installing a second time changes nothing. Plan rejects a file that it cannot parse.
//
// Uninstalling restores the file. It removes lists, objects, files and folders of a
// project that become empty.
package install
