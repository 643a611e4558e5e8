package agentfs

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/testkit/costly"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// No form of a payload hides a denial or a success, and none stops the files.
//
//guarantee:one-reading
func TestProject_FormsOfPayloads(t *testing.T) {
	forms := append(ledgertest.Denials(), ledgertest.Form{Kind: events.ToolBefore, Data: `{"verdict":"deny","blobs":{"args":{"sha256":5,"bytes":9}}}`})
	denials := len(forms)
	forms = append(forms, ledgertest.Successes()...)
	var l ledger
	for i, form := range forms {
		e, err := events.Decode(event(t, i, form.Kind, nil, call(fmt.Sprint("c", i))))
		if err != nil {
			t.Fatal(err)
		}
		e.Data = []byte(form.Data)
		l = append(l, e.Append(nil))
	}
	dir := t.TempDir()
	project(t, dir, l)
	rows := query(t, filepath.Join(dir, "coder__acme.db"), `SELECT status, coalesce(error, '') FROM tool_calls ORDER BY id`)
	if len(rows) != len(forms) {
		t.Fatalf("%d rows, want %d", len(rows), len(forms))
	}
	for i, row := range rows {
		if want := [2]string{"error", "denied"}; i < denials && [2]string(row) != want || i >= denials && row[0] != "success" {
			t.Errorf("%s: %q", forms[i].Data, row)
		}
	}
}

// An event costs by its size, and not by its content. The row of a step with many members has the
// whole payload.
func TestProject_CostsOfPayloads(t *testing.T) {
	for kind, first := range map[events.Kind]string{
		events.RunFinished: `"success":true`, events.StepFinished: `"agent_role":"coder"`, events.ToolBefore: `"tool":"Bash"`,
	} {
		t.Run(string(kind), func(t *testing.T) {
			costly.Check(t, first, 80, 1, func(name, payload string) {
				e, err := events.Decode(event(t, 0, kind, nil, call("c"), step("s")))
				if err != nil {
					t.Fatal(err)
				}
				e.Data = []byte(payload)
				dir := t.TempDir()
				project(t, dir, ledger{e.Append(nil)})
				if name != "members" && name != "blobs" || kind != events.StepFinished {
					return
				}
				found := query(t, filepath.Join(dir, "coder__acme.db"),
					`SELECT sum(instr(data, '"payload":{"agent_role":"coder"')) > 0 FROM fs_data`)
				if fmt.Sprint(found[0][0]) != "1" {
					t.Errorf("the payload is not there: %q", found)
				}
			})
		})
	}
}
