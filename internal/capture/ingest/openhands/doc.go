// Package openhands turns what OpenHands wrote about its runs into events:
// results of an evaluation (one JSON object per instance, also many behind each
// other), output of the resolver, and trajectories, which are lists, or one item
// per line. Since version 1 items are events with a kind; they tell the same.
//
// A run is a document. It is named by the instance or the issue that it works on,
// and by what the agent did first: of two attempts at one instance each is a run
// of its own. A run has
//
//	run.started                      the task, the model and everything that stands before the history
//	prompt.submit                    what the user asked
//	response.completed               an answer of the model: its text and its tokens
//	tool.before, tool.result         an action of the agent and the observation that it caused
//	subagent.start, subagent.stopped a delegate, whose items are a run "<run>/<id>" of their own
//	message.created                  the system's and the agent's messages
//	error                            an observation "error" that no action caused: the model called no tool that there is
//	compact.before                   a condensation of the history
//	custom                           every other item
//	step.finished                    a turn: what followed one answer of the model
//	run.finished                     with everything that stands behind the history
//
// Each item is kept whole in the raw of one event. Times without a zone, as
// OpenHands writes them, are taken as UTC. Where items have no time, they have
// that of the item before, and the first that of the file.
package openhands
