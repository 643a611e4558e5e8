// Package sweagent turns trajectories of SWE-agent (.traj) and mini-swe-agent
// (.traj.json) into events.
//
// A run is a file. It is named by the file, which is called after the instance,
// and by what the agent did first: of two attempts at one instance each is a run
// of its own. A run has
//
//	run.started              the model and the version, where they stand in front
//	message.created          the system's message, demonstrations, and what nothing else is made of
//	prompt.submit            the task
//	response.completed       an answer of the model, and its tokens where they are told
//	llm.request              how many messages the model was shown, and their hash: they repeat the steps
//	tool.before, tool.result the action and the observation
//	error                    an answer without an action
//	custom                   every other member of the file
//	step.finished            an answer of the model and what followed on it
//	run.finished             exit status, tokens, the files of the submission
//
// The attempts of a run that was tried several times are runs of their own,
// "<run>/attempt-<n>"; the steps of the chosen one, which the file repeats, are
// not told again.
//
// SWE-agent's actions are lines for a shell: they are calls of "bash", except
// for the commands that SWE-agent itself brings, which have their own names.
// Neither format tells how a command ended, mini-swe-agent's exit codes aside:
// a result without one counts as a success unless SWE-agent says that it did not
// run the command or cancelled it.
//
// SWE-agent writes no times. Its events have the time of the file, and the
// execution times that came before are added. Messages of mini-swe-agent have
// their own times since version 2.
package sweagent
