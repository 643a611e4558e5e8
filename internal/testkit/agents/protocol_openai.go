package agents

import (
	"encoding/json"
	"strings"
)

// responses is the newer API of OpenAI, which Codex uses.
type responses struct{}

func (responses) read(_ string, body []byte) (request, error) {
	var r struct {
		Model string
		Tools []named
		Input json.RawMessage
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return request{}, err
	}
	req := request{shell: shellAmong(namesOf(r.Tools)), model: r.Model, stream: true}
	var input []json.RawMessage
	if err := json.Unmarshal(r.Input, &input); err != nil {
		return request{}, err
	}
	for _, item := range input {
		if strings.HasSuffix(typeOf(item), "call_output") {
			req.results = append(req.results, string(item))
		}
	}
	return req, nil
}

// item returns the only item of output.
func (responses) item(a answer) object {
	if a.command == "" {
		return object{
			"type": "message", "role": "assistant", "id": a.id("m_"), "status": "completed",
			"content": []object{{"type": "output_text", "text": LastWord, "annotations": []string{}}},
		}
	}
	return object{
		"type": "function_call", "id": a.id("fc_"), "call_id": a.id("call_"), "name": a.shell,
		"arguments": string(encoded(a.arguments())), "status": "completed",
	}
}

func (p responses) whole(a answer) object {
	return object{
		"id": a.id("r_"), "status": "completed", "output": []object{p.item(a)},
		"usage": object{
			"input_tokens": InputTokens, "output_tokens": OutputTokens, "total_tokens": InputTokens + OutputTokens,
			"input_tokens_details": nil, "output_tokens_details": nil,
		},
	}
}

func (p responses) stream(a answer) []byte {
	r := p.whole(a)
	return serverSent(
		object{"type": "response.created", "response": object{"id": r["id"]}},
		object{"type": "response.output_item.done", "output_index": 0, "item": p.item(a)},
		object{"type": "response.completed", "response": r},
	)
}

// completions is the API that most servers of models offer.
type completions struct{}

func (completions) read(_ string, body []byte) (request, error) {
	var r struct {
		Model    string
		Stream   bool
		Tools    []struct{ Function named }
		Messages []json.RawMessage
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return request{}, err
	}
	var tools []named
	for _, t := range r.Tools {
		tools = append(tools, t.Function)
	}
	req := request{shell: shellAmong(namesOf(tools)), model: r.Model, stream: r.Stream}
	for _, m := range r.Messages {
		var about struct{ Role string }
		if json.Unmarshal(m, &about) == nil && about.Role == "tool" {
			req.results = append(req.results, string(m))
		}
	}
	return req, nil
}

// message returns the message of the assistant and the reason of its end.
func (completions) message(a answer) (message object, reason string) {
	if a.command == "" {
		return object{"role": "assistant", "content": LastWord}, "stop"
	}
	return object{"role": "assistant", "tool_calls": []object{{
		"index": 0, "id": a.id("call_"), "type": "function",
		"function": object{"name": a.shell, "arguments": string(encoded(a.arguments()))},
	}}}, "tool_calls"
}

func (a answer) completion(kind string, choice object) object {
	choice["index"] = 0
	return object{
		"id": a.id("c_"), "object": kind, "created": 1, "model": a.model, "choices": []object{choice},
		"usage": object{
			"prompt_tokens": InputTokens, "completion_tokens": OutputTokens, "total_tokens": InputTokens + OutputTokens,
		},
	}
}

func (p completions) whole(a answer) object {
	message, reason := p.message(a)
	return a.completion("chat.completion", object{"message": message, "finish_reason": reason})
}

func (p completions) stream(a answer) []byte {
	message, reason := p.message(a)
	const kind = "chat.completion.chunk"
	first := a.completion(kind, object{"delta": message, "finish_reason": nil})
	delete(first, "usage")
	last := a.completion(kind, object{"delta": object{}, "finish_reason": reason})
	return append(serverSent(first, last), "data: [DONE]\n\n"...)
}
