// Package agents runs the real coding agents from npm without a person and without a network.
//
// [Install] installs them into the user's cache. A [Model] is a local server that stands in for the
// models of all agents. It asks for the shell commands of a script, one per turn, and keeps the
// results. A [Box] runs an agent with a home folder and a project of its own. All other addresses
// are behind a proxy that does not exist.
package agents
