package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

func TestDev2(t *testing.T) {
	b, _ := os.ReadFile("/tmp/adv.txt")
	for _, l := range strings.Split(string(b), "\n") {
		if l == "" {
			continue
		}
		want, cmd, _ := strings.Cut(l, "\t")
		cmd = strings.ReplaceAll(cmd, "␤", "\n")
		a := shell.Analyze(cmd)
		d := destruction(a, "")
		v := "none"
		if d.what != "" {
			v = "deny"
			if d.unknown {
				v = "ask"
			}
		}
		if v == "none" && a.Dynamic() {
			v = "ask"
		}
		if v != want {
			fmt.Printf("want %s got %s | %s | %s %v\n", want, v, cmd, d.what, a.Doubts)
		}
	}
}
