package events

import "testing"

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
		e := full()
		e.Type, e.Data = RunFinished.Type(), []byte(c.data)
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
		e := full()
		e.Type, e.Data = kind.Type(), []byte(data)
		if e.Validate() == nil {
			t.Errorf("%s with %s is valid", kind, data)
		}
	}
}
