// Package trace folds the events of runs into what a person looks at: a run,
// its steps, the tool calls in them, and the runs of its sub-agents.
package trace
