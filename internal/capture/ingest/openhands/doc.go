// Package openhands reads histories of OpenHands. A history is the result of an evaluation, the
// output of the resolver, or a trajectory.
//
// A document is a run. The run id contains a hash of the first action, so two attempts at one task
// are two runs. The events of a run are
//
//	run.started                      the task, the model and all members before the history
//	prompt.submit                    a prompt of the user
//	response.completed               an answer of the model with its text and tokens
//	tool.before, tool.result         an action of the agent and its observation
//	subagent.start, subagent.stopped a delegate, whose items are a run "<run>/<id>"
//	message.created                  messages of the system and of the agent
//	error                            an observation "error" without an action: the model called an unknown tool
//	compact.before                   a condensation of the history
//	custom                           every other item
//	step.finished                    a turn: an answer of the model and its actions
//	run.finished                     with all members after the history
//
// Each item is in the raw member of one event. Times without a zone are UTC. An item without a time
// gets the time of the item before it.
package openhands
