// Package amplifier turns logs of Amplifier (amplifier.log.jsonl, and the
// events.jsonl of a session) into events.
//
// A session is a run; one that was forked off another is a run below it. A run
// has
//
//	run.started, session.start       at the first line that names the session
//	prompt.submit                    prompt:submit
//	llm.request                      llm:request and provider:request; begins a step
//	response.completed               llm:response; provider:response where no llm:response came before
//	tool.before, tool.result         tool:pre, and tool:post or tool:error; paired by id, else by name and order
//	message.created                  content_block:end
//	approval                         approval:required, approval:granted, approval:denied
//	compact.before                   context:pre_compact
//	error                            provider:error, and answers whose status is an error
//	session.ended                    session:end
//	subagent.start                   session:fork, in the run of the parent
//	custom                           every other line
//	step.finished                    an answer of the model and what followed on it
//	run.finished                     at the end of the input
//
// Each line is kept whole in the raw of one event. Lines of the log that name no
// session belong to the one that goes on; where none does, or several do, they
// belong to no run.
package amplifier
