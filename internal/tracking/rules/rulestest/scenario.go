package rulestest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

// Scenario is a history of events together with the issues that a person expects.
type Scenario struct {
	Name     string     `json:"name"`
	Title    string     `json:"title"`
	Why      string     `json:"why"`
	Open     []string   `json:"open"` // questions that the rules leave open
	Events   []Event    `json:"events"`
	Expected []Expected `json:"expected"`
	Limits   Limits     `json:"limits"`
}

// Event is an event in a scenario file.
type Event struct {
	T      float64        `json:"t"` // seconds
	ID     string         `json:"id"`
	Tenant string         `json:"tenant"`
	Run    string         `json:"run"`
	Ev     string         `json:"ev"` // start, step, end, error, human, tick, restart
	Type   string         `json:"type"`
	Step   string         `json:"step"`
	Role   string         `json:"role"`
	Status string         `json:"status"`
	Out    string         `json:"out"`
	Err    string         `json:"err"`
	Meta   map[string]any `json:"meta"`
	OK     bool           `json:"ok"`
	Files  []string       `json:"files"`
	Tokens int64          `json:"tokens"`

	Event   string `json:"event"`
	Issue   string `json:"issue"`
	IssueOf string `json:"issue_of"` // if set, the event edits the issue that covers this event
	Action  string `json:"action"`
	By      string `json:"by"`
	Value   string `json:"value"`
}

// Expected describes an issue that a person would have filed.
type Expected struct {
	Key      string   `json:"key"`
	Tenant   string   `json:"tenant"`
	Kind     Words    `json:"kind"`
	Covers   []string `json:"covers"` // events that may be the first event of the issue
	All      bool     `json:"all"`    // all events of Covers must be occurrences
	Final    Words    `json:"final"`  // last status
	Optional bool     `json:"optional"`
	Link     Words    `json:"link"` // types of required links
	NoLink   string   `json:"no_link"`
	Labels   []string `json:"labels"`
	NoLabels []string `json:"no_labels"`
	Title    string   `json:"title"`
}

// Limits contains upper limits for the number of issues and of status changes in a scenario. 0
// means no limit.
type Limits struct {
	Transitions int `json:"max_transitions"` // of all issues together, including their creation
	Issues      int `json:"max_issues"`
}

// Words contains the values that a field of an expected issue may have. In a scenario file, it is
// one string or a list.
type Words []string

// UnmarshalJSON decodes a string, a list of strings, or an object with the member "type".
func (w *Words) UnmarshalJSON(data []byte) error {
	var one string
	if err := json.Unmarshal(data, &one); err == nil {
		if *w = nil; one != "" {
			*w = Words{one}
		}
		return nil
	}
	var object struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &object); err == nil {
		*w = Words{object.Type}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("not a word or a list: %w", err)
	}
	*w = list
	return nil
}

// Load returns the recorded scenarios and the scenarios in the file testdata/scenarios.json. Under
// the race detector, which is slow, it returns only a fifth of the file.
func Load(tb testing.TB) []Scenario {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0) //nolint:dogsled // only the file is needed
	own := read(tb, filepath.Join(filepath.Dir(here), "..", "testdata", "scenarios.json"))
	list, step := Given(tb), race.Size(1, 5)
	for i := 0; i < len(own); i += step {
		list = append(list, own[i])
	}
	return list
}

// Given returns the scenarios that were recorded from real runs. It skips the test if the
// recordings are not available.
func Given(tb testing.TB) []Scenario {
	tb.Helper()
	return read(tb, realdata.Path(tb, "..", "tracker-scenarios-dev.json"))
}

func read(tb testing.TB, path string) []Scenario {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var list []Scenario
	if err := json.Unmarshal(data, &list); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return list
}
