package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/hooktrail/hooktrail/pkg/hooks/toolname"
)

// Some agents send no ids for calls and prompts to their hooks. The functions below derive ids from
// the content. An event from a hook and the same event from a transcript then get the same id.

// CallKey returns a key that is equal for calls of the same tool with the same arguments.
func CallKey(tool string, args json.RawMessage) string {
	return toolname.Canonical(tool) + " " + CanonicalJSON(args)
}

// PromptKey returns a key that is equal for equal prompts. It never equals the key of a tool call.
func PromptKey(prompt string) string { return "\x00prompt " + prompt }

// SessionKey returns a key that consists of the tenant, the name of the agent and the id of a run.
func SessionKey(tenant, tool, run string) string { return tenant + "\x00" + tool + "\x00" + run }

// CallID returns the id of a tool call. n is the number of earlier calls in the session with the
// same [CallKey].
func CallID(session, key string, n int) string { return "call-" + hookID(session, key, n) }

// PromptID returns the id of the step that a prompt begins. n is the number of earlier prompts in
// the session with the same [PromptKey].
func PromptID(session, key string, n int) string { return "step-" + hookID(session, key, n) }

func hookID(session, key string, n int) string {
	sum := sha256.Sum256([]byte(session + "\x00" + key + "\x00" + strconv.Itoa(n)))
	return hex.EncodeToString(sum[:12])
}

// HookCall returns the call id that the agent's hooks assign to the next call in this run with
// these arguments. An event that comes from both a transcript and a hook is then stored only once.
func (r *Run) HookCall(tool string, args json.RawMessage) string {
	key := CallKey(tool, args)
	return CallID(r.hookSession(), key, r.times(key))
}

// HookPrompt returns the step id that the agent's hooks assign to the next prompt in this run with
// this text.
func (r *Run) HookPrompt(prompt string) string {
	key := PromptKey(prompt)
	return PromptID(r.hookSession(), key, r.times(key))
}

func (r *Run) hookSession() string { return SessionKey(r.m.opts.Tenant, r.m.source, r.Run) }

func (r *Run) times(key string) int {
	if r.equal == nil {
		r.equal = map[[sha256.Size]byte]int{}
	}
	sum := sha256.Sum256([]byte(key))
	r.equal[sum]++
	return r.equal[sum] - 1
}

// CanonicalJSON returns a JSON value with sorted members and without white space. It returns text
// that is not JSON unchanged.
func CanonicalJSON(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(text)
}
