package agentfs

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/nodetest"
)

// client is the real AgentFS client from npm.
type client struct {
	sdk  string // installation folder
	node string
}

func installClient(t *testing.T) client {
	t.Helper()
	i := nodetest.Install(t, filepath.Join("testdata", "package.json"))
	return client{sdk: i.Dir, node: i.Node}
}

func (c client) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.node, append([]string{filepath.Join("testdata", "client.mjs")}, args...)...)
	cmd.Env = append(os.Environ(), "AGENTFS_SDK="+c.sdk)
	return cmd
}

func (c client) run(t *testing.T, what, file string, into any) {
	t.Helper()
	cmd := c.command(t, what, file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("client %s: %v\n%s", what, err, stderr.Bytes())
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("client %s: %v in %s", what, err, out)
	}
}
