package install

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// driver loads the plugin as OpenCode does and calls its hooks.
const driver = `
import { renameSync } from "node:fs"
import { Hooktrail } from "./.opencode/plugins/hooktrail.js"
const hooks = await Hooktrail({ directory: process.cwd() })
const said = {}
const call = async (name, ask) => {
  try {
    said[name] = await ask()
  } catch (err) {
    said[name] = "threw: " + err.message
  }
}
const before = (command) => async () => {
  const args = { command, description: "d" }
  await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, { args })
  return args
}
await call("deny", before("deny"))
await call("patch", before("patch"))
await call("none", before("none"))
await call("broken", before("broken"))
await call("stuck", before("stuck"))
const began = Date.now()
await call("paused", before("none"))
said.quick = Date.now() - began < 1000
await new Promise((resolve) => setTimeout(resolve, 1000))
await call("again", before("none"))
await call("missing", async () => {
  renameSync("publisher", "elsewhere")
  try {
    return await before("missing")()
  } finally {
    renameSync("elsewhere", "publisher")
  }
})
await call("after", async () => {
  const output = { title: "t", output: "secret", metadata: {} }
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s", callID: "c", args: {} }, output)
  return output.output
})
await hooks.event({ event: { id: "e1", type: "session.created", properties: { info: { id: "s" } } } })
await hooks.event({ event: { id: "e2", type: "message.part.delta", properties: {} } })
await hooks.event({ event: { id: "e3", type: "session.idle", properties: { sessionID: "s" } } })
console.log(JSON.stringify(said))
`

// answering replaces the hook command. It logs its calls and chooses the answer by
// the payload.
const answering = `#!/bin/sh
payload=$(cat)
echo "$* $payload" >> calls
case "$payload" in
*'"command":"deny"'*) echo '{"deny":"not this"}' ;;
*'"command":"patch"'*) echo '{"output":{"args":{"command":"patched"}}}' ;;
*'"command":"broken"'*) exit 3 ;;
*'"command":"stuck"'*) sleep 6 & wait ;;
*'"output":"secret"'*) echo '{"output":{"output":"hidden"}}' ;;
esac
`

// TestPlugin checks that the plugin applies the answers, forwards the right bus events,
// and fails open or closed as installed.
func TestPlugin(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("the plugin is JavaScript, and node is not here")
	}
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprint("FailClosed", closed), func(t *testing.T) {
			t.Parallel()
			testPlugin(t, node, closed)
		})
	}
}

func testPlugin(t *testing.T, node string, closed bool) {
	t.Helper()
	opts := options(t)
	opts.Program = filepath.Join(opts.Project, "publisher")
	opts.Timeout = 2 * time.Second
	broken := any(map[string]any{"command": "broken", "description": "d"})
	stuck := any(map[string]any{"command": "stuck", "description": "d"})
	none := any(map[string]any{"command": "none", "description": "d"})
	paused := none
	missing := any(map[string]any{"command": "missing", "description": "d"})
	if closed {
		missing = "threw: " + closedReason(opts.Program, "opencode")
		opts.Flags = "--fail-closed"
		broken = "threw: Blocked: Hooktrail does not answer, and fails closed."
		stuck, paused = broken, broken
	}
	apply(t, "opencode", opts)
	write(t, opts.Program, answering)
	if err := os.Chmod(opts.Program, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(opts.Project, "driver.mjs"), driver)
	write(t, filepath.Join(opts.Project, ".opencode", "package.json"), `{"type":"module"}`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "driver.mjs")
	cmd.Dir, cmd.Stderr = opts.Project, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := map[string]any{
		"deny": "threw: not this", "patch": map[string]any{"command": "patched"},
		"none": none, "broken": broken, "stuck": stuck, "paused": paused, "quick": true, "again": none, "missing": missing, "after": "hidden",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fail-closed %v (-want +got):\n%s", closed, diff)
	}
	calls := read(t, filepath.Join(opts.Project, "calls"))
	for _, want := range []string{
		"hook opencode tool.execute.before " + opts.Flags, `"cwd":"` + opts.Project + `"`,
		"hook opencode session.created", "hook opencode session.idle",
		"hook opencode hooktrail.unanswered", `"properties":{"sessionID":"s","events":2}`,
	} {
		if !strings.Contains(calls, want) {
			t.Errorf("no %s in\n%s", want, calls)
		}
	}
	if strings.Contains(calls, "delta") {
		t.Errorf("pieces of texts are told:\n%s", calls)
	}
}
