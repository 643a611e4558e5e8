// Package sweagent reads trajectories of SWE-agent (.traj) and mini-swe-agent
// (.traj.json).
//
// A file is a run. The run id contains a hash of the first action, so two attempts at one task are
// two runs. The events of a run are
//
//	run.started              the model and the version, if they precede the steps
//	message.created          the system message, demonstrations and other messages
//	prompt.submit            the task
//	response.completed       an answer of the model with its tokens
//	llm.request              the number of messages in the request, and their hash
//	tool.before, tool.result the action and the observation
//	error                    an answer without an action
//	custom                   every other member of the file
//	step.finished            an answer of the model and its calls
//	run.finished             exit status, tokens, the files of the submission
//
// If a file has several attempts, each is a run "<run>/attempt-<n>". The steps of the chosen
// attempt occur twice in the file and are read only once.
//
// An action of SWE-agent is a line for a shell and becomes a call of the tool "bash". A command of
// SWE-agent itself becomes a call of a tool with that name. Only mini-swe-agent has exit codes.
// Other results are a success, unless SWE-agent reports that it did not finish the command.
//
// SWE-agent writes no times, so an event has the time of the file plus the execution times so far.
// Messages of mini-swe-agent have times since version 2.
package sweagent
