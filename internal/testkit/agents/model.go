package agents

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Tokens of each answer with a command or a last word.
const (
	InputTokens  = 11
	OutputTokens = 7
)

// LastWord is the text of the last answer.
const LastWord = "all turns are over"

// Turn is one answer of the model, a call of the shell.
type Turn struct {
	Command string
	Before  func() // runs once before the answer; may be nil
}

// Model answers requests in the protocols of all agents. The number of tool results in a request
// selects the turn, so repeated requests get equal answers.
type Model struct {
	URL string

	turns   []Turn
	begin   []sync.Once
	mu      sync.Mutex // guards results
	results []string
}

// NewModel starts a model, which ends with the test.
func NewModel(tb testing.TB, turns ...Turn) *Model {
	tb.Helper()
	m := &Model{turns: turns, begin: make([]sync.Once, len(turns))}
	s := httptest.NewServer(m)
	tb.Cleanup(s.Close)
	m.URL = s.URL
	return m
}

// Results returns the results of the calls as the agent reported them, in JSON.
func (m *Model) Results() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.results
}

// request is the part of a request that the answer depends on.
type request struct {
	shell   string // name of the shell tool, empty if the request offers none
	results []string
	model   string
	stream  bool
}

// answer is a call of the shell, or the last word if command is empty.
type answer struct {
	request
	turn    int
	command string
}

// ServeHTTP implements [http.Handler].
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the agent is gone
	}
	p := protocolOf(r.URL.Path)
	if p == nil {
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	req, err := p.read(r.URL.Path, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := answer{request: req, turn: len(req.results)}
	if req.shell != "" && a.turn < len(m.turns) {
		t := m.turns[a.turn]
		if a.command = t.Command; t.Before != nil {
			m.begin[a.turn].Do(t.Before)
		}
	}
	m.mu.Lock()
	if len(req.results) > len(m.results) {
		m.results = req.results
	}
	m.mu.Unlock()
	if req.stream {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(p.stream(a))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(p.whole(a)))
}

// object is a JSON object of an answer.
type object = map[string]any

// serverSent formats server-sent events. The type of an object is the name of its event.
func serverSent(list ...object) []byte {
	var b bytes.Buffer
	for _, o := range list {
		if name, ok := o["type"].(string); ok {
			b.WriteString("event: " + name + "\n")
		}
		b.WriteString("data: " + string(encoded(o)) + "\n\n")
	}
	return b.Bytes()
}

func encoded(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // unreachable: answers can be encoded
	}
	return data
}
