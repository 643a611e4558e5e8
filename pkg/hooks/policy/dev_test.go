package policy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

func TestDev(t *testing.T) {
	for _, n := range []string{"safety-net-cases", "dippy-cases", "real-agent-bash-commands"} {
		f, _ := os.Open("/work/shared/data/shell-commands/" + n + ".jsonl")
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<24)
		count := map[string]int{}
		for sc.Scan() {
			var r struct{ Command, Expect string }
			json.Unmarshal(sc.Bytes(), &r)
			a := shell.Analyze(r.Command)
			d := destruction(a, "")
			v := "none"
			if d.what != "" {
				v = "deny"
				if d.unknown {
					v = "ask"
				}
			}
			if v == "none" && a.Dynamic() {
				v = "dyn"
			}
			count[r.Expect+" "+v]++
			show := false
			switch n {
			case "safety-net-cases":
				show = (r.Expect == "deny" && v != "deny") || (r.Expect == "allow" && v != "none")
			case "dippy-cases":
				show = r.Expect == "allow" && (v != "none") || os.Getenv("ASK") != "" && r.Expect == "ask" && v == "none" && strings.Contains("x", os.Getenv("X"))
			default:
				show = v != "none"
			}
			if show {
				fmt.Printf("%s | %s %s | %s | %s %v\n", n[:4], r.Expect, v, strings.ReplaceAll(r.Command[:min(len(r.Command), 400)], "\n", "\\n"), d.what, a.Doubts)
			}
		}
		fmt.Println(n, count)
	}
}
