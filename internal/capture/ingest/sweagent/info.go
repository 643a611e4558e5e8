package sweagent

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type info struct {
	Exit       string `json:"exit_status"`
	Submission string `json:"submission"`
	Stats      struct {
		Cost     float64         `json:"instance_cost"`
		Sent     json.RawMessage `json:"tokens_sent"`
		Received json.RawMessage `json:"tokens_received"`
		Calls    json.RawMessage `json:"api_calls"`
	} `json:"model_stats"`
	Config struct {
		Model struct {
			Name string `json:"model_name"`
		} `json:"model"`
		Environment struct {
			Cwd string `json:"cwd"`
		} `json:"environment"`
	} `json:"config"`
	Mini string `json:"mini_version"`
	Own  string `json:"swe_agent_version"`

	workItem string // the issue that the run resolves
}

func (i *info) replay(value json.RawMessage) {
	if text := ingest.Text(value); text != "" {
		value = json.RawMessage(text)
	}
	problem := ingest.Members(ingest.Members(value)["problem_statement"])
	for _, name := range []string{"github_url", "id"} {
		if i.workItem == "" {
			i.workItem = ingest.Clip(ingest.Text(problem[name]), ingest.MaxInput)
		}
	}
}

func (i info) version() string { return cmp.Or(i.Mini, i.Own) }

func (i info) end(data *events.RunFinishedData, r *run) {
	patch := i.Submission
	switch {
	case i.Exit == "" && r.submitted:
		data.SetStatus(events.RunCompleted)
		data.Reason = "submitted"
		patch = cmp.Or(patch, r.answer)
	case i.Exit == "":
		data.SetStatus(events.RunUnknown)
		data.Reason = "not submitted"
	default:
		data.Reason = ingest.Clip(i.Exit, ingest.MaxInput)
		data.SetStatus(events.RunCompleted)
		if !strings.EqualFold(i.Exit, "submitted") {
			data.SetStatus(events.RunFailed)
			data.Error = &events.Failure{Message: "exit status " + data.Reason, Class: exitClass(i.Exit)}
		}
	}
	data.Files, data.Metadata = ingest.PatchedFiles(patch), i.metadata()
	total := events.Tokens{Input: ingest.Number(i.Stats.Sent), Output: ingest.Number(i.Stats.Received)}
	if data.TokensUsed == nil && total != (events.Tokens{}) {
		data.TokensUsed = &total // no answer had tokens
	}
	data.Cost = ingest.Told(i.Stats.Cost)
}

func (i info) metadata() map[string]any {
	about := map[string]any{}
	if i.Stats.Cost > 0 {
		about["cost"] = i.Stats.Cost
	}
	if n := ingest.Number(i.Stats.Calls); n > 0 {
		about["api_calls"] = n
	}
	if i.Own != "" {
		about["version"] = i.Own
	}
	if i.workItem != "" {
		about["work_item"] = i.workItem
	}
	if len(about) == 0 {
		return nil
	}
	return about
}

func exitClass(status string) string {
	if _, inner, ok := strings.Cut(status, "("); ok {
		status = strings.TrimSuffix(inner, ")")
	}
	return ingest.Clip(strings.ToLower(strings.TrimSpace(status)), 60)
}
