package ocsf

import (
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (m *mapper) classify() {
	if m.entry.Class == ledger.ClassConflict || m.entry.Class == ledger.ClassQuarantine {
		m.finding(severityHigh, "A record was set apart: "+string(m.entry.Finding), string(m.entry.Finding))
		return
	}
	switch m.entry.Kind { //nolint:exhaustive // all other kinds are base events
	case events.ToolBefore, events.ToolResult, events.ToolResultStore, events.Approval, events.PromptSubmit,
		events.MessageCreate, events.MessageCreated, events.MessageUpdate, events.MessageUpdated, events.MessagesFilter,
		events.LLMRequest, events.ResponseCompleted, events.CompactBefore:
		m.call()
	case events.RunStarted, events.SessionStart, events.SubagentStart:
		m.lifecycle(lifecycleStart)
	case events.RunFinished, events.SessionEnded, events.SubagentStopped:
		m.lifecycle(lifecycleStop)
	case events.ModelSwitched, events.MemoryUpdated:
		m.lifecycle(lifecycleUpdate)
	case events.StepBefore, events.StepOutput, events.StepFinished, events.CheckpointCreated:
		m.lifecycle(activityOther)
	case events.Error, events.HookExecuted:
		m.failure()
	case events.AuditAccessed:
		m.access()
	case events.GapRecorded:
		m.gap()
	default:
		m.is(baseEvent, activityOther)
	}
}

type data struct {
	Tool     string             `json:"tool"`
	Args     json.RawMessage    `json:"args"`
	Status   string             `json:"status"`
	ExitCode *int               `json:"exit_code"`
	Model    string             `json:"model"`
	Success  *bool              `json:"success"`
	Reason   string             `json:"reason"`
	Verdict  events.Verdict     `json:"verdict"`
	Action   events.AuditAction `json:"action"`
	By       string             `json:"by"`
	User     string             `json:"user"`
	Ticket   string             `json:"ticket"`
	Hook     string             `json:"hook"`
}

func (m *mapper) data() (d data) {
	_ = json.Unmarshal(m.event.Data, &d) // Unmarshal continues after fields of wrong types
	if m.event.Denies() {
		d.Verdict = events.VerdictDeny
	}
	if m.event.CallSucceeded() {
		d.Status = string(events.ToolSuccess)
	}
	for _, text := range []*string{&d.Tool, &d.Model, &d.Reason, &d.By, &d.User, &d.Ticket, &d.Hook} {
		*text = m.short(*text)
	}
	m.row.Unmapped.Hooktrail.Model = d.Model
	return d
}

func (m *mapper) errorText() string {
	var d struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(m.event.Data, &d) != nil {
		return ""
	}
	var f events.Failure
	if json.Unmarshal(d.Error, &f) == nil {
		return m.short(f.Message)
	}
	var text string
	_ = json.Unmarshal(d.Error, &text) // hooks have a plain text as error
	return m.short(text)
}

func (m *mapper) call() {
	m.is(apiActivity, activityOther)
	m.acts()
	d := m.data()
	operation := d.Tool
	if operation == "" {
		operation = m.name()
	}
	m.row.API = &api{Operation: operation}
	if m.event.Source != "" {
		m.row.API.Service = &entity{Name: m.event.Source}
	}
	if call := m.event.ToolCall; call != "" {
		m.row.API.Request = &request{UID: call}
		if len(d.Args) > maxArguments {
			m.row.Metadata.IsTruncated = true
		} else if len(d.Args) > 0 {
			m.row.API.Request.Data = d.Args
		}
	}
	if m.entry.Kind == events.ToolResult {
		m.row.API.Response = &response{Code: d.ExitCode, ErrorMessage: m.errorText()}
		m.outcome(d.Status == string(events.ToolSuccess), d.Status != "" && d.Status != string(events.ToolInterrupted))
		if d.Status == string(events.ToolDenied) {
			m.row.ActionID, m.row.DispositionID = actionDenied, dispositionBlocked
			m.row.Metadata.Profiles = []string{securityControl}
		}
	}
	m.judged(d)
}

func (m *mapper) outcome(success, known bool) {
	switch {
	case !known:
	case success:
		m.row.StatusID = statusSuccess
	default:
		m.row.StatusID, m.row.SeverityID = statusFailure, severityLow
	}
}

func (m *mapper) judged(d data) {
	switch d.Verdict {
	case events.VerdictDeny:
		m.row.ActionID, m.row.DispositionID = actionDenied, dispositionBlocked
		m.row.StatusID, m.row.SeverityID, m.row.StatusDetail = statusFailure, severityMedium, d.Reason
	case events.VerdictAllow:
		m.row.ActionID, m.row.DispositionID = actionAllowed, dispositionAllowed
	case events.VerdictAsk, events.VerdictNone:
		return
	default:
		return
	}
	m.row.Metadata.Profiles = []string{securityControl}
}

func (m *mapper) lifecycle(activity int) {
	m.is(applicationLifecycle, activity)
	d := m.data()
	m.row.App = &product{Name: m.app(), UID: m.entry.Run}
	m.ended()
	if m.row.StatusID == statusFailure {
		m.row.StatusDetail = m.errorText()
	}
	m.judged(d)
}

func (m *mapper) ended() {
	if len(m.event.Data) == 0 {
		return
	}
	switch m.entry.Kind { //nolint:exhaustive // all others do not end with an outcome
	case events.RunFinished:
		if d, err := events.Payload[events.RunFinishedData](m.event); err == nil {
			m.outcome(d.Status() == events.RunCompleted, d.Status() == events.RunCompleted || d.Status() == events.RunFailed)
		}
	case events.StepFinished:
		if d, err := events.Payload[events.StepFinishedData](m.event); err == nil {
			m.outcome(d.StepStatus == events.StepCompleted, d.StepStatus == events.StepCompleted || d.StepStatus == events.StepFailed)
		}
	}
}

func (m *mapper) failure() {
	d := m.data()
	if m.entry.Kind == events.HookExecuted && (d.Success == nil || *d.Success) {
		m.is(baseEvent, activityOther)
		return
	}
	m.is(applicationError, errorGeneral)
	m.row.Message, m.row.SeverityID = m.errorText(), severityMedium
	if d.Hook != "" {
		m.row.StatusCode = d.Hook
	}
}

func (m *mapper) access() {
	d := m.data()
	activity := storeRead
	switch d.Action { //nolint:exhaustive // all others read
	case events.AuditErase, events.AuditPrune:
		activity = storeDelete
	case events.AuditHold, events.AuditLift, events.AuditKey, events.AuditIssuer, events.AuditRevoke, events.AuditFloor, events.AuditApprovers:
		activity = storeUpdate
	}
	m.is(datastoreActivity, activity)
	m.acts()
	user := d.User
	if user == "" {
		user = d.By
	}
	if user != "" {
		m.row.Actor.User = &entity{Name: user}
	}
	m.row.TypeID, m.row.Database = storeDatabase, &database{Name: m.origin, Type: "ledger", TypeID: databaseOther}
	h := &m.row.Unmapped.Hooktrail
	h.Action, h.Reason, h.Ticket, h.By = string(d.Action), d.Reason, d.Ticket, d.By
}

func (m *mapper) gap() {
	d := m.data()
	m.finding(severityMedium, "A producer lost events: "+d.Reason, "gap")
}

func (m *mapper) finding(severity int, title, kind string) {
	m.is(detectionFinding, findingCreate)
	m.row.SeverityID, m.row.StatusID, m.row.IsAlert = severity, findingNew, true
	m.row.FindingInfo = &findingInfo{UID: m.row.Metadata.UID, Title: title}
	if kind != "" {
		m.row.FindingInfo.Types = []string{kind}
	}
}
