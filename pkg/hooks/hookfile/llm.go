package hookfile

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/maypok86/otter/v2"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile/internal/llm"
)

const defaultMaxTokens = 100

const maxCached = 1000

type judge struct {
	event     string
	prompt    *prompt
	model     string
	maxTokens int
	client    *llm.Client
	cache     *otter.Cache[[sha256.Size]byte, judgement]
}

type judgement struct {
	safe   bool
	reason string
}

func newJudge(h *Hook) (*judge, error) {
	j := &judge{event: h.Event, prompt: h.prompt, model: h.model, maxTokens: h.maxTokens, client: newModelClient(h)}
	if j.maxTokens == 0 {
		j.maxTokens = defaultMaxTokens
	}
	if h.noCache {
		return j, nil
	}
	var err error
	j.cache, err = otter.New(&otter.Options[[sha256.Size]byte, judgement]{MaximumSize: maxCached})
	return j, err
}

func newModelClient(h *Hook) *llm.Client {
	name := h.keyName()
	c := &llm.Client{API: llm.OpenAI, BaseURL: h.url, Key: func() string { return os.Getenv(name) }, HTTP: newClient()}
	if h.usesAnthropic() {
		c.API = llm.Anthropic
	}
	return c
}

func (h *Hook) usesAnthropic() bool {
	return h.provider == anthropicName || h.provider == "" && strings.HasPrefix(h.model, "claude")
}

func (h *Hook) keyName() string {
	switch {
	case h.keyEnv != "":
		return h.keyEnv
	case h.usesAnthropic():
		return "ANTHROPIC_API_KEY"
	}
	return "OPENAI_API_KEY"
}

// run never allows a call, because an allow would also skip the user's own approval.
func (j *judge) run(ctx context.Context, d hooks.Document) (*hooks.Reply, error) {
	text, err := j.prompt.render(j.event, d)
	if err != nil {
		return nil, err
	}
	said, err := j.recall(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case said.safe:
		return nil, nil
	}
	return &hooks.Reply{Verdict: hooks.Deny, Reason: said.reason}, nil
}

func (j *judge) recall(ctx context.Context, text string) (judgement, error) {
	if j.cache == nil {
		return j.consult(ctx, text)
	}
	key := sha256.Sum256([]byte(text))
	for {
		asked := false
		said, err := j.cache.Get(ctx, key, otter.LoaderFunc[[sha256.Size]byte, judgement](
			func(ctx context.Context, _ [sha256.Size]byte) (judgement, error) {
				asked = true
				return j.consult(ctx, text)
			},
		))
		// Another caller has sent the request and timed out. Send the request again, because ctx
		// has not ended.
		if err == nil || asked || ctx.Err() != nil || !errors.Is(err, hooks.ErrTimedOut) {
			return said, err
		}
	}
}

func (j *judge) consult(ctx context.Context, text string) (judgement, error) {
	answer, err := j.client.Complete(ctx, j.model, text, j.maxTokens)
	if err != nil {
		if errors.Is(err, llm.ErrNoKey) {
			return judgement{}, hooks.Fault("no key for the model in the environment")
		}
		if status, ok := errors.AsType[llm.StatusError](err); ok {
			return judgement{}, hooks.Fault(status.Error())
		}
		return judgement{}, remoteFault(ctx, err, "model", "did not answer")
	}
	return findJudgement(answer)
}

const (
	maxAnswer     = 64 << 10
	maxCandidates = 100
)

const errGarbage = hooks.Fault("model did not answer with safe: true or false")

// findJudgement prefers an object with "safe": false, because the model may quote JSON of the
// agent.
func findJudgement(text string) (judgement, error) {
	if len(text) > maxAnswer {
		return judgement{}, hooks.Fault("model's answer is too long")
	}
	var found *judgement
	for candidates := 0; ; candidates++ {
		start := strings.IndexByte(text, '{')
		if start < 0 {
			break
		}
		if candidates == maxCandidates {
			return judgement{}, errGarbage
		}
		text = text[start:]
		said, length, ok := judgementAt(text)
		switch {
		case !ok:
			length = 1
		case !said.safe:
			return said, nil
		case found == nil:
			found = &said
		}
		text = text[length:]
	}
	if found == nil {
		return judgement{}, errGarbage
	}
	return *found, nil
}

func judgementAt(text string) (said judgement, length int, ok bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	var members map[string]json.RawMessage
	if dec.Decode(&members) != nil {
		return judgement{reason: unsafeReason}, len(text), cutOffUnsafe(text)
	}
	switch string(members["safe"]) {
	case "true":
		said.safe = true
	case "false":
	default:
		return judgement{}, 0, false
	}
	if json.Unmarshal(members["reason"], &said.reason) != nil || said.reason == "" {
		said.reason = unsafeReason
	}
	return said, int(dec.InputOffset()), true
}

const unsafeReason = "the model called it unsafe"

func cutOffUnsafe(text string) bool {
	dec := json.NewDecoder(strings.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return false
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return false
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return false
		}
		if name == "safe" && string(value) == "false" {
			return true
		}
	}
	return false
}
