// Package amplifier reads logs of Amplifier (amplifier.log.jsonl, and the events.jsonl
// of a session).
//
// A session is a run. A forked session is a run below the original session. The events
// of a run are
//
//	run.started                      at the first line that names the session
//	session.start                    session:start, session:resume and session:fork
//	prompt.submit                    prompt:submit
//	llm.request                      llm:request and provider:request; begins a step
//	response.completed               llm:response; provider:response without an earlier llm:response
//	tool.before, tool.result         tool:pre, and tool:post or tool:error; paired by id, or else by name and order
//	message.created                  content_block:end
//	approval                         approval:required, approval:granted, approval:denied
//	compact.before                   context:pre_compact
//	error                            provider:error, and answers with an error status
//	session.ended                    session:end
//	subagent.start                   session:fork, in the run of the parent
//	custom                           every other line
//	step.finished                    an answer of the model and its calls
//	run.finished                     at the end of the input
//
// Each line is in the raw member of one event. A line without a session belongs to the
// only open session, or to no run.
package amplifier
