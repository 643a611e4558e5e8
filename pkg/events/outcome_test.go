package events

import (
	"errors"
	"testing"
)

func TestRunFinishedData_Status(t *testing.T) {
	for _, c := range []struct {
		data string
		want RunStatus
	}{
		{`{"success":true}`, RunCompleted},
		{`{"success":false}`, RunFailed},
		{`{"success":true,"run_status":"completed"}`, RunCompleted},
		{`{"success":false,"run_status":"failed"}`, RunFailed},
		{`{"success":false,"run_status":"interrupted"}`, RunInterrupted},
		{`{"success":false,"run_status":"unknown"}`, RunUnknown},
	} {
		e := ofKind(RunFinished, c.data)
		if err := e.Validate(); err != nil {
			t.Errorf("%s: %v", c.data, err)
		}
		d, err := Payload[RunFinishedData](e)
		if err != nil || d.Status() != c.want {
			t.Errorf("%s: got %s and %v, want %s", c.data, d.Status(), err, c.want)
		}
		d.SetStatus(c.want)
		if d.Success != (c.want == RunCompleted) || d.Status() != c.want {
			t.Errorf("SetStatus(%s): success %t, status %s", c.want, d.Success, d.Status())
		}
	}
}

func TestValidate_RefusesUnknownOutcomes(t *testing.T) {
	for kind, data := range map[Kind]string{
		RunFinished:  `{"success":true,"run_status":"done"}`,
		StepFinished: `{"step_status":"cancelled"}`,
		ToolResult:   `{"status":"refused"}`,
	} {
		if ofKind(kind, data).Validate() == nil {
			t.Errorf("%s with %s is valid", kind, data)
		}
	}
}

func ofKind(kind Kind, data string) Event {
	e := full()
	e.Type, e.Data = kind.Type(), []byte(data)
	return e
}

//guarantee:one-reading
func TestPayload_StatusIsOneOfTheConstants(t *testing.T) {
	for data, want := range map[string]RunStatus{
		`{"success":true,"run_status":"done"}`: RunUnknown, `{"success":true,"run_status":"\u001b[2Jfinished"}`: RunUnknown,
		`{"success":true,"run_status":"active"}`: RunUnknown, `{"run_status":" completed"}`: RunUnknown,
		`{"success":true,"run_status":"FAILED"}`: RunFailed, `{"success":true,"run_status":"failed"}`: RunFailed,
		`{"success":false,"run_status":"completed"}`: RunCompleted, `{"success":true,"run_status":""}`: RunCompleted, `{}`: RunFailed,
	} {
		d, err := Payload[RunFinishedData](ofKind(RunFinished, data))
		if err != nil || d.Status() != want || d.RunStatus != "" && d.RunStatus != want || d.Success != (want == RunCompleted) {
			t.Errorf("%s: %q, status %q, success %t, %v; want %s", data, d.RunStatus, d.Status(), d.Success, err, want)
		}
	}
	for data, want := range map[string]StepStatus{
		`{"step_status":"failed"}`: StepFailed, `{"step_status":"Completed"}`: StepCompleted, `{"step_status":"running"}`: StepRunning,
		`{"step_status":"active"}`: StepUnknown, `{"step_status":"denied, success"}`: StepUnknown, `{"step_status":""}`: StepUnknown,
		`{}`: StepUnknown, ``: StepUnknown,
	} {
		if d, err := Payload[StepFinishedData](ofKind(StepFinished, data)); err != nil || d.StepStatus != want {
			t.Errorf("%s: %q, %v; want %s", data, d.StepStatus, err, want)
		}
	}
	if d := (RunFinishedData{Success: true, RunStatus: "done"}); d.Status() != RunUnknown {
		t.Errorf("status %q", d.Status())
	}
}

//guarantee:one-reading
func TestPayload_InvalidFieldsHideNoAnswer(t *testing.T) {
	for _, data := range []string{
		`{"verdict":"deny","tool":{}}`, `{"VERDICT":"deny","verdict":"allow"}`, `{"verdict":"d\u0065ny","verdict":null}`,
		`{"verdict":"deny","executions":5}`, `{"verdict":"deny","blobs":{"a":{"sha256":5}}}`,
	} {
		before, err := Payload[ToolBeforeData](ofKind(ToolBefore, data))
		approval, err2 := Payload[ApprovalData](ofKind(Approval, data))
		outcome, err3 := Payload[Outcome](ofKind(ToolBefore, data))
		if err := errors.Join(err, err2, err3); err != nil || before.Verdict != VerdictDeny || approval.Verdict != VerdictDeny || outcome.Verdict != VerdictDeny {
			t.Errorf("%s: %q, %q, %q, %v", data, before.Verdict, approval.Verdict, outcome.Verdict, err)
		}
	}
	for _, data := range []string{`{"status":"success","status":"error"}`, `{"statuſ":"success","duration_ms":"x"}`} {
		if d, err := Payload[ToolResultData](ofKind(ToolResult, data)); err != nil || d.Status != ToolSuccess {
			t.Errorf("%s: %q, %v", data, d.Status, err)
		}
	}
	if _, err := Payload[ToolBeforeData](ofKind(ToolBefore, `{"verdict":"allow","tool":{}}`)); err == nil {
		t.Error("an invalid field of a call that is not denied has no error")
	}
}
