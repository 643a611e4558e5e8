package agents

import (
	"encoding/json"
	"slices"
	"strings"
)

// protocol reads the requests of a model API and writes its answers.
type protocol interface {
	read(path string, body []byte) (request, error)
	stream(a answer) []byte
	whole(a answer) object
}

func protocolOf(path string) protocol {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return messages{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return completions{}
	case strings.HasSuffix(path, "enerateContent"):
		return contents{}
	}
	return nil
}

// shells are the names of the agents' shell tools.
var shells = []string{"Bash", "bash", "shell", "shell_command", "exec_command", "run_shell_command"}

func shellAmong(names []string) string {
	for _, name := range names {
		if slices.Contains(shells, name) {
			return name
		}
	}
	return ""
}

type named struct{ Name string }

func namesOf(tools []named) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// arguments are the arguments of a shell tool.
func (a answer) arguments() object {
	if a.shell == "exec_command" {
		return object{"cmd": a.command}
	}
	return object{"command": a.command, "description": "a step of the script"}
}

func (a answer) id(prefix string) string { return prefix + string(rune('a'+a.turn)) }

// messages is the API of Anthropic.
type messages struct{}

func (messages) read(_ string, body []byte) (request, error) {
	var r struct {
		Model    string
		Stream   bool
		Tools    []named
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return request{}, err
	}
	req := request{shell: shellAmong(namesOf(r.Tools)), model: r.Model, stream: r.Stream}
	for _, m := range r.Messages {
		var blocks []json.RawMessage
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue // a text
		}
		for _, b := range blocks {
			if typeOf(b) == "tool_result" {
				req.results = append(req.results, string(b))
			}
		}
	}
	return req, nil
}

func typeOf(data []byte) string {
	var o struct{ Type string }
	if json.Unmarshal(data, &o) != nil {
		return ""
	}
	return o.Type
}

// block returns the only block of content, and the reason of its end.
func (messages) block(a answer) (block object, reason string) {
	if a.command == "" {
		return object{"type": "text", "text": LastWord}, "end_turn"
	}
	return object{"type": "tool_use", "id": a.id("toolu_"), "name": a.shell, "input": a.arguments()}, "tool_use"
}

func (p messages) whole(a answer) object {
	block, reason := p.block(a)
	return object{
		"id": a.id("msg_"), "type": "message", "role": "assistant", "model": a.model, "content": []object{block},
		"stop_reason": reason, "usage": object{"input_tokens": InputTokens, "output_tokens": OutputTokens},
	}
}

func (p messages) stream(a answer) []byte {
	block, reason := p.block(a)
	m := p.whole(a)
	usage := m["usage"]
	m["content"], m["stop_reason"] = []object{}, nil
	delta := object{"type": "text_delta", "text": LastWord}
	if a.command == "" {
		block["text"] = ""
	} else {
		delta = object{"type": "input_json_delta", "partial_json": string(encoded(block["input"]))}
		block["input"] = object{}
	}
	return serverSent(
		object{"type": "message_start", "message": m},
		object{"type": "content_block_start", "index": 0, "content_block": block},
		object{"type": "content_block_delta", "index": 0, "delta": delta},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": reason}, "usage": usage},
		object{"type": "message_stop"},
	)
}

// contents is the API of Gemini.
type contents struct{}

func (contents) read(path string, body []byte) (request, error) {
	var r struct {
		Tools []struct {
			FunctionDeclarations []named
		}
		Contents []struct {
			Parts []struct{ FunctionResponse json.RawMessage }
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return request{}, err
	}
	_, model, _ := strings.Cut(path, "models/")
	model, method, _ := strings.Cut(model, ":")
	req := request{model: model, stream: strings.HasPrefix(method, "stream")}
	for _, t := range r.Tools {
		if req.shell == "" {
			req.shell = shellAmong(namesOf(t.FunctionDeclarations))
		}
	}
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				req.results = append(req.results, string(p.FunctionResponse))
			}
		}
	}
	return req, nil
}

func (contents) whole(a answer) object {
	part := object{"text": LastWord}
	if a.command != "" {
		part = object{"functionCall": object{"name": a.shell, "args": a.arguments()}}
	}
	return object{
		"candidates":   []object{{"content": object{"role": "model", "parts": []object{part}}, "finishReason": "STOP", "index": 0}},
		"modelVersion": a.model,
		"usageMetadata": object{
			"promptTokenCount": InputTokens, "candidatesTokenCount": OutputTokens, "totalTokenCount": InputTokens + OutputTokens,
		},
	}
}

func (p contents) stream(a answer) []byte { return serverSent(p.whole(a)) }
