package hookfile

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

type facts struct {
	Event       string         `expr:"event"`
	Point       string         `expr:"point"`
	Tool        string         `expr:"tool"`
	Args        map[string]any `expr:"args"`
	Result      any            `expr:"result"`
	Error       string         `expr:"error"`
	Payload     map[string]any `expr:"payload"`
	Session     string         `expr:"session_id"`
	Timestamp   time.Time      `expr:"timestamp"`
	Tenant      string         `expr:"tenant"`
	Run         string         `expr:"run"`
	RunType     string         `expr:"run_type"`
	Step        string         `expr:"step"`
	Agent       string         `expr:"agent"`
	AgentRole   string         `expr:"agent_role"`
	ParentAgent string         `expr:"parent_agent"`
	ParentRun   string         `expr:"parent_run"`
	TeamRoot    string         `expr:"team_root"`
	Thread      string         `expr:"thread"`
	User        string         `expr:"user"`
	Flow        string         `expr:"flow"`
	Side        string         `expr:"side"`
	StepCount   int            `expr:"step_count"`
	Stopped     bool           `expr:"stopped"`
}

var lateVariables = map[string]bool{"result": true, "error": true, "payload": true}

type condition struct {
	program *vm.Program
	event   string
	point   events.Kind
	late    bool
}

const (
	onSuccess = "success"
	onFailure = "failure"
)

func (r *hookReader) readWhen(n *yaml.Node, what string) {
	s, ok := r.text(n, what)
	if !ok {
		return
	}
	switch strings.TrimSpace(s) {
	case onSuccess:
		r.hook.ends = hooks.WhenSuccess()
	case onFailure:
		r.hook.ends = hooks.WhenFailure()
	default:
		c, err := compileCondition(s, r.hook.Event, r.hook.Point.Kind)
		if err != nil {
			r.wrong(n, "%s: %v", what, err)
			return
		}
		r.hook.when = c
		return
	}
	if p := r.hook.Point; p.Kind != "" && !tellsEnd(p.Kind) {
		r.wrong(n, "%s: %s does not tell success from failure; write an expression", what, r.hook.Event)
	}
}

func tellsEnd(point events.Kind) bool {
	r := hooks.NewRegistry(hooks.Options{})
	silent := func(context.Context, hooks.Document) (*hooks.Reply, error) { return nil, nil }
	_, err := r.OnDocument(point, silent, hooks.WhenSuccess())
	return err == nil
}

func compileCondition(text, event string, point events.Kind) (*condition, error) {
	program, err := expr.Compile(text, expr.Env(facts{}), expr.AsBool(), expr.MaxNodes(1000))
	if err != nil {
		if e, ok := errors.AsType[*file.Error](err); ok {
			return nil, &expressionError{line: e.Line, column: e.Column + 1, message: e.Message}
		}
		return nil, &expressionError{line: 1, column: 1, message: err.Error()}
	}
	c := &condition{program: program, event: event, point: point}
	node := program.Node()
	ast.Walk(&node, c)
	return c, nil
}

type expressionError struct {
	line, column int
	message      string
}

func (e *expressionError) Error() string {
	at := "character " + strconv.Itoa(e.column)
	if e.line > 1 {
		at = "line " + strconv.Itoa(e.line) + ", " + at
	}
	return "not an expression that is true or false: " + clip(e.message) + " (at its " + at + ")"
}

// Visit implements [ast.Visitor]. It sets c.late if the expression uses a variable whose value is
// not known when Match is called.
func (c *condition) Visit(node *ast.Node) {
	if name, ok := (*node).(*ast.IdentifierNode); ok && (lateVariables[name.Value] || name.Value == "$env") {
		c.late = true
	}
}

const errWhen = hooks.Fault("when: cannot be evaluated")

func (c *condition) holds(d hooks.Document) (bool, error) {
	m := &d.Meta
	f := facts{
		Event: c.event, Point: string(c.point), Tool: d.Tool, Error: d.Error, Session: m.Session, Timestamp: m.Time,
		Tenant: m.Tenant, Run: m.Run, RunType: m.RunType, Step: m.Step, Agent: m.Agent, AgentRole: m.AgentRole,
		ParentAgent: m.ParentAgent, ParentRun: m.ParentRun, TeamRoot: m.TeamRoot, Thread: m.Thread, User: m.User,
		Flow: m.Flow, Side: m.Side, StepCount: m.StepCount, Stopped: m.Stopped,
	}
	f.Args, _ = d.Args.Map()
	f.Payload, _ = d.Payload.Map()
	if d.Result != "" {
		if err := json.Unmarshal([]byte(d.Result), &f.Result); err != nil {
			return false, errWhen
		}
	}
	out, err := expr.Run(c.program, f)
	if err != nil {
		return false, errWhen
	}
	yes, ok := out.(bool)
	if !ok {
		return false, errWhen
	}
	return yes, nil
}

// Match evaluates the expression before the hook is called, because a false result then saves the
// call. If the expression fails or uses a variable whose value is not known yet, Match returns
// true.
func (c *condition) Match(meta hooks.Meta, s hooks.Subject) bool {
	if c.late {
		return true
	}
	yes, err := c.holds(hooks.Document{Meta: meta, Tool: s.Tool, Args: s.Args})
	return yes || err != nil
}
