package ocsf

import (
	"bytes"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A SIEM sees a denial, a success and the end of a run as all other readers do.
//
//guarantee:one-reading
func TestRow_FormsOfPayloads(t *testing.T) {
	wants := func(kind events.Kind, data, want string, has bool) {
		t.Helper()
		if line, err := Row("acme", entry(kind, data)); err != nil || bytes.Contains(line, []byte(want)) != has {
			t.Errorf("%s: %s, %v", data, line, err)
		}
	}
	for _, form := range ledgertest.Denials() {
		wants(form.Kind, form.Data, `"action_id":2,"disposition_id":2`, true)
	}
	for _, form := range ledgertest.Successes() {
		wants(form.Kind, form.Data, `"status_id":1`, true)
	}
	for data, want := range map[string]string{
		`{"success":true,"run_status":"failed"}`: `"status_id":2`, `{"run_status":"failed"}`: `"status_id":2`,
		`{"success":false,"run_status":"completed"}`: `"status_id":1`, `{"success":true}`: `"status_id":1`, `{"success":false}`: `"status_id":2`,
	} {
		wants(events.RunFinished, data, want, true)
	}
	for _, data := range []string{
		`{"success":false,"run_status":"interrupted"}`, `{"success":true,"run_status":"fine"}`, `{"success":true,"duration_ms":"x"}`,
	} {
		wants(events.RunFinished, data, `"status_id"`, false)
	}
	wants(events.StepFinished, `{"step_status":"failed"}`, `"status_id":2`, true)
	wants(events.StepFinished, `{"step_status":"fine"}`, `"status_id"`, false)
}
