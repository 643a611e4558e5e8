package hookfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

// Limits on the output in bytes. More stdout is a failure. More stderr is discarded.
const (
	maxStdout = wire.MaxBytes
	maxStderr = 64 << 10
)

const exitDeny = 2

// drainTime limits reading after a kill. A process outside of the killed group could keep the pipe
// open forever.
const drainTime = 100 * time.Millisecond

func shellCommand(line string) []string { return []string{"sh", "-c", line} }

type command struct {
	event string
	argv  []string // from the file only, never from a document
	env   []string
}

func (c command) run(ctx context.Context, d hooks.Document) (*hooks.Reply, error) {
	in, err := wire.AppendCommand(nil, c.event, d)
	if err != nil {
		return nil, err
	}
	out, err := c.execute(ctx, in)
	if err != nil {
		return nil, err
	}
	switch out.status {
	case 0:
		if text := contextText(out.stdout, d); text != "" {
			return &hooks.Reply{Context: text}, nil
		}
		reply, err := wire.ParseReply(out.stdout, d)
		if fault, ok := errors.AsType[hooks.Fault](err); ok {
			return nil, withStderr(fault, out.stderr, d)
		}
		return reply, err
	case exitDeny:
		reason := strings.TrimSpace(strings.ToValidUTF8(string(out.stderr), "\ufffd"))
		if reason == "" {
			reason = "denied without a reason"
		}
		return &hooks.Reply{Verdict: hooks.Deny, Reason: reason}, nil
	case -1:
		return nil, withStderr("program was ended by a signal", out.stderr, d)
	}
	return nil, withStderr(hooks.Fault("exit status "+strconv.Itoa(out.status)), out.stderr, d)
}

// contextText returns plain text that a command printed for the agent. As in Claude Code, a command
// can do so at the start of a session and at a prompt.
func contextText(stdout []byte, d hooks.Document) string {
	if d.Point != events.PromptSubmit && d.Point != events.SessionStart {
		return ""
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(stdout), "\ufffd"))
	if strings.HasPrefix(text, "{") {
		return ""
	}
	return text
}

type output struct {
	status         int // -1 if a signal ended the program
	stdout, stderr []byte
}

func (c command) execute(ctx context.Context, in []byte) (output, error) {
	if ctx.Err() != nil {
		return output{}, ctx.Err()
	}
	cmd := exec.Command(c.argv[0], c.argv[1:]...) //nolint:noctx // ctx kills the whole group, below
	cmd.Env = c.env
	p, err := openPipes(cmd)
	if err != nil {
		return output{}, hooks.Fault("pipes cannot be opened")
	}
	defer p.close()
	child, err := start(cmd)
	p.closeTheirs()
	if err != nil {
		return output{}, spawnFault(err)
	}
	var (
		wg    sync.WaitGroup
		out   output
		flood = make(chan struct{})
	)
	wg.Go(func() {
		p.stdin.Write(in) //nolint:errcheck // a hook can ignore its input
		p.stdin.Close()   //nolint:errcheck // see above
	})
	wg.Go(func() {
		if out.stdout = read(p.stdout, maxStdout+1); len(out.stdout) > maxStdout {
			close(flood)
		}
	})
	wg.Go(func() {
		out.stderr = read(p.stderr, maxStderr)
		io.Copy(io.Discard, p.stderr) //nolint:errcheck // keeps the program from blocking
	})
	var fault error
	select {
	case <-child.exited():
	case <-ctx.Done():
		fault = ctx.Err()
	case <-flood:
	}
	state := child.end()
	p.expire(drainTime)
	wg.Wait()
	switch {
	case fault != nil:
		return output{}, fault
	case len(out.stdout) > maxStdout:
		return output{}, wire.ErrTooLong
	case state == nil:
		return output{}, hooks.Fault("program's end cannot be told")
	}
	out.status = state.ExitCode()
	return out, nil
}

func spawnFault(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return hooks.Fault("program not found")
	case errors.Is(err, fs.ErrPermission):
		return hooks.Fault("program may not be run")
	}
	return hooks.Fault("program cannot be started")
}

func read(r io.Reader, limit int64) []byte {
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return data // the deadline has passed, so the data is incomplete
	}
	return data
}

type pipes struct {
	stdin, stdout, stderr *os.File
	theirs                []*os.File
}

// openPipes creates the pipes of a command. With the pipes of os/exec, Wait would wait for every
// process that has inherited them.
func openPipes(cmd *exec.Cmd) (*pipes, error) {
	p := new(pipes)
	var errs [3]error
	var in, out, stderr *os.File
	in, p.stdin, errs[0] = os.Pipe()
	p.stdout, out, errs[1] = os.Pipe()
	p.stderr, stderr, errs[2] = os.Pipe()
	p.theirs = []*os.File{in, out, stderr}
	if err := errors.Join(errs[:]...); err != nil {
		p.closeTheirs()
		p.close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, stderr
	return p, nil
}

func (p *pipes) expire(d time.Duration) {
	at := time.Now().Add(d)
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		f.SetDeadline(at) //nolint:errcheck // already closed
	}
}

func (p *pipes) close()       { closeAll(p.stdin, p.stdout, p.stderr) }
func (p *pipes) closeTheirs() { closeAll(p.theirs...) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close() //nolint:errcheck // errors on closing a pipe lose nothing
		}
	}
}
