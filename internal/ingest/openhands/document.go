package openhands

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// document is what stands beside the history.
type document struct {
	before, after ingest.Object // its members, in front of the history and behind it

	Instance string // its id
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

// field returns where the member of that name is kept, nil where it is only kept
// in raw.
func (d *document) field(name string) any {
	switch name {
	case "instance_id":
		return &d.Instance
	case "issue":
		return &d.Issue
	case "issue_type":
		return &d.IssueType
	case "instruction":
		return &d.Instruction
	case "metadata":
		return &d.Metadata
	case "instance":
		return &d.Task
	case "base_commit":
		return &d.Commit
	case "git_patch":
		return &d.Patch
	case "test_result":
		return &d.Test
	case "error":
		return &d.Error
	case "success":
		return &d.Success
	case "result_explanation":
		return &d.Explanation
	case "metrics":
		return &d.Metrics
	}
	return nil
}

// add takes in a member. It returns false where it is not of the expected shape.
func (d *document) add(name string, value json.RawMessage, begun bool) bool {
	if begun {
		d.after.Add(name, value)
	} else {
		d.before.Add(name, value)
	}
	field := d.field(name)
	return field == nil || json.Unmarshal(value, field) == nil
}

// runID names the run: by what it works on, else by the file, and by the bytes
// of what the agent did first.
func (d *document) runID(file string, first []byte) string {
	sum := sha256.Sum256(first)
	return d.subject(file) + "-" + hex.EncodeToString(sum[:4])
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

// repository returns the one that the run works in, as "owner/name".
func (d *document) repository() string {
	if d.Issue.Repo != "" {
		return d.Issue.Owner + "/" + d.Issue.Repo
	}
	return d.Task.Repo
}

// workItem returns what the run is to resolve, as "owner/name#number".
func (d *document) workItem() string {
	if d.Issue.Repo != "" && d.Issue.Number > 0 {
		return d.repository() + "#" + strconv.Itoa(d.Issue.Number)
	}
	return ""
}

// started returns the payload of run.started.
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
	title := d.Issue.Title
	if title == "" {
		title = d.Instance
	}
	return events.RunStartedData{
		Title: title, InputSummary: ingest.Clip(d.Instruction, ingest.MaxInput), Model: d.Metadata.LLM.Model, Version: version,
		Metadata: about, Common: events.Common{Raw: d.before.JSON()},
	}
}

// end tells data how the run ended, as far as the document does.
func (d *document) end(data *events.RunFinishedData) {
	data.Files = ingest.PatchedFiles(d.Patch + "\n" + d.Test.Patch)
	if total := d.Metrics.Usage.tokens(); *data.TokensUsed == (events.Tokens{}) {
		data.TokensUsed = &total // no answer told its own
	}
	about := map[string]any{}
	if cost := json.Number(d.Metrics.Cost); len(cost) > 0 && cost != "0" && cost != "0.0" {
		if n, err := cost.Float64(); err == nil {
			about["cost"] = n
		}
	}
	if d.Explanation != "" {
		data.OutputSummary = ingest.Clip(d.Explanation, ingest.MaxOutput)
	}
	switch {
	case d.Error != "":
		data.Success, data.Reason = false, "error"
		data.Error = &events.Failure{Message: ingest.Clip(d.Error, ingest.MaxMessage)}
		if strings.Contains(d.Error, "maximum iteration") {
			data.Reason, data.Error.Class = "max_iterations", "max_iterations"
		}
	case d.Success != nil && !*d.Success:
		data.Success, data.Reason = false, "not resolved"
	case d.Success != nil:
		data.Success = true
	}
	for name, value := range data.Metadata {
		about[name] = value
	}
	data.Metadata, data.Raw = about, d.after.JSON()
	if len(about) == 0 {
		data.Metadata = nil
	}
}
