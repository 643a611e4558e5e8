package cli

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/spf13/cobra"
)

func TestPrint(t *testing.T) {
	for asJSON, want := range map[bool]string{false: "2 leaves\n", true: "{\n  \"leaves\": 2\n}\n"} {
		var out bytes.Buffer
		cmd := new(cobra.Command)
		cmd.SetOut(&out)
		err := Print(cmd, &Shared{JSON: asJSON}, map[string]int{"leaves": 2}, func(out io.Writer) { fmt.Fprintln(out, "2 leaves") })
		if err != nil || out.String() != want {
			t.Errorf("JSON %t: got %q and %v, want %q", asJSON, out.String(), err, want)
		}
	}
}
