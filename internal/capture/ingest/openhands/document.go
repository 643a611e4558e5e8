package openhands

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type document struct {
	before, after ingest.Object

	Instance string
	Issue    struct {
		Owner, Repo, Title string
		Number             int
	}
	IssueType   string
	Instruction string
	Metadata    struct {
		Agent      string `json:"agent_class"`
		Dataset    string `json:"dataset"`
		Iterations int    `json:"max_iterations"`
		LLM        struct {
			Model string `json:"model"`
		} `json:"llm_config"`
	}
	Task struct {
		Repo   string `json:"repo"`
		Commit string `json:"base_commit"`
	}
	Commit string
	Patch  string
	Test   struct {
		Patch string `json:"git_patch"`
	}
	Error       string
	Success     *bool
	Explanation string
	Metrics     metrics
}

func (d *document) fields() map[string]any {
	return map[string]any{
		"instance_id": &d.Instance, "instance": &d.Task, "issue": &d.Issue, "issue_type": &d.IssueType,
		"instruction": &d.Instruction, "metadata": &d.Metadata, "base_commit": &d.Commit,
		"git_patch": &d.Patch, "test_result": &d.Test, "metrics": &d.Metrics,
		"error": &d.Error, "success": &d.Success, "result_explanation": &d.Explanation,
	}
}

func (d *document) add(name string, value json.RawMessage, begun bool) bool {
	if begun {
		d.after.Add(name, value)
	} else {
		d.before.Add(name, value)
	}
	field := d.fields()[name]
	return field == nil || json.Unmarshal(value, field) == nil
}

func (d *document) runID(file string, first json.RawMessage) string {
	return d.subject(file) + "-" + ingest.Hash(first)
}

func (d *document) subject(file string) string {
	if d.Instance != "" && ingest.Usable(d.Instance) {
		return d.Instance
	}
	if d.Issue.Repo != "" {
		if name := d.Issue.Owner + "__" + d.Issue.Repo + "-" + strconv.Itoa(d.Issue.Number); ingest.Usable(name) {
			return name
		}
	}
	return ingest.SessionOf(file)
}

func (d *document) repository() string {
	if d.Issue.Repo != "" {
		return d.Issue.Owner + "/" + d.Issue.Repo
	}
	return d.Task.Repo
}

func (d *document) workItem() string {
	if d.Issue.Repo != "" && d.Issue.Number > 0 {
		return d.repository() + "#" + strconv.Itoa(d.Issue.Number)
	}
	return ""
}

func (d *document) started(version string) events.RunStartedData {
	about := map[string]any{}
	for name, text := range map[string]string{
		"instance_id": d.Instance, "issue_type": d.IssueType, "agent_class": d.Metadata.Agent, "dataset": d.Metadata.Dataset,
		"repository": d.repository(), "base_commit": d.Task.Commit + d.Commit, "work_item": d.workItem(),
	} {
		if text != "" {
			about[name] = text
		}
	}
	if d.Metadata.Iterations > 0 {
		about["max_iterations"] = d.Metadata.Iterations
	}
	return events.RunStartedData{
		Title: cmp.Or(d.Issue.Title, d.Instance), InputSummary: ingest.Clip(d.Instruction, ingest.MaxInput), Model: d.Metadata.LLM.Model, Version: version,
		Metadata: about, Common: events.Common{Raw: d.before.JSON()},
	}
}

func (d *document) end(data *events.RunFinishedData) {
	data.Raw = d.after.JSON()
	data.Files = ingest.PatchedFiles(d.Patch + "\n" + d.Test.Patch)
	if total := d.Metrics.Usage.tokens(); data.TokensUsed == nil && total != (events.Tokens{}) {
		data.TokensUsed = &total // no answer had tokens
	}
	data.Cost = ingest.Told(number(d.Metrics.Cost))
	if cost := number(d.Metrics.Cost); cost > 0 {
		if data.Metadata == nil {
			data.Metadata = map[string]any{}
		}
		data.Metadata["cost"] = cost
	}
	if d.Explanation != "" {
		data.OutputSummary = ingest.Clip(d.Explanation, ingest.MaxOutput)
	}
	switch {
	case d.Error != "":
		data.SetStatus(events.RunFailed)
		data.Reason = "error"
		data.Error = &events.Failure{Message: ingest.Clip(d.Error, ingest.MaxMessage)}
		if strings.Contains(d.Error, "maximum iteration") {
			data.Reason, data.Error.Class = "max_iterations", "max_iterations"
		}
	case d.Success != nil && !*d.Success:
		data.SetStatus(events.RunFailed)
		data.Reason = "not resolved"
	case d.Success != nil:
		data.SetStatus(events.RunCompleted)
	}
}

func number(raw json.RawMessage) float64 {
	var n float64
	if json.Unmarshal(raw, &n) != nil {
		return 0
	}
	return n
}
