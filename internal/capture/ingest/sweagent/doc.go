// Package sweagent reads trajectories of SWE-agent (.traj) and mini-swe-agent
// (.traj.json).
//
// A file is a run. Its id consists of the name of the file, which is the instance, and
// a hash of the first action. Two attempts at one instance are therefore two runs. The
// events of a run are
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
// If a run has several attempts, each attempt is a run "<run>/attempt-<n>". The file
// repeats the steps of the chosen attempt. The repeated steps are skipped.
//
// An action of SWE-agent is a line for a shell and becomes a call of the tool "bash".
// A command that SWE-agent implements becomes a call of a tool with the name of the
// command. Only mini-swe-agent has exit codes. A result without an exit code is a
// success, unless SWE-agent reports that it did not run the command or cancelled it.
//
// SWE-agent does not write times. The time of an event is the time of the file plus
// the execution times so far. Messages of mini-swe-agent have times since version 2.
package sweagent
