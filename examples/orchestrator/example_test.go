package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hooktrail/hooktrail/examples/orchestrator"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// journal prints the kind of each event. Publish uses an outbox instead.
type journal struct{}

// Append implements [hooks.Appender].
func (journal) Append(_ context.Context, e events.Event) (events.Event, error) {
	fmt.Printf("- %s %s\n", e.Run, e.Kind())
	return e, nil
}

func Example() {
	ctx := context.Background()
	pipeline, err := orchestrator.New(journal{}, os.Stdout)
	if err == nil {
		err = errors.Join(pipeline.Run(ctx, "fix-parser", "Fix the parser"), pipeline.Close(ctx))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// - fix-parser session.start
	// - fix-parser run.started
	// - fix-parser step.before
	// - fix-parser error
	// - fix-parser model.switched
	// planner plans with small, attempt 2
	// - fix-parser step.output
	// - fix-parser step.finished
	// - fix-parser step.before
	// - fix-parser tool.before
	// - fix-parser tool.result
	// coder Write: "written"
	// - fix-parser tool.before
	// - fix-parser error
	// - fix-parser tool.result
	// coder Bash: error: FAIL src/parse_test.go:12
	// - fix-parser tool.before
	// coder Bash: denied: Shell command blocked: Command contains prohibited pattern "git push --force". Blocked commands: rm -rf, git push --force, git rebase, git reset --hard
	// - fix-parser subagent.start
	// - fix-parser/scout run.started
	// - fix-parser/scout tool.before
	// - fix-parser/scout tool.result
	// scout Grep: "src/parse.go:3"
	// - fix-parser/scout run.finished
	// - fix-parser subagent.stopped
	// - fix-parser step.output
	// - fix-parser step.finished
	// - fix-parser step.before
	// reviewer holds it to "tests first"
	// - fix-parser tool.before
	// - fix-parser tool.result
	// reviewer Read: "package src"
	// - fix-parser step.output
	// - fix-parser step.finished
	// - fix-parser run.finished
	// - fix-parser session.ended
}
