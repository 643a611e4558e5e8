// Package dialogue reads the session files of agents that store a conversation as messages: Qwen
// Code, iFlow CLI, Droid of Factory, pi, Kiro CLI, Cursor and OpenCode. Each format gives entries,
// and one translation turns entries into events.
//
// A session is a run, and a prompt begins a step. The lines of a sub-agent are a run
// "<session>/<agent>". The events of a run are
//
//	run.started, session.start   at its first entry
//	prompt.submit                the prompt of the user
//	tool.before, tool.result     a tool call, and its result
//	response.completed           the model, the tokens and the cost of an answer, if told
//	message.created              texts and thoughts of the model, and messages of the agent
//	model.switched               an answer of another model than the one before
//	compact.before, error        compactions, and answers that failed
//	custom                       every other entry
//	step.finished, run.finished  at the next prompt, and at the end
//
// A step is completed if its last answer is a text.
package dialogue
