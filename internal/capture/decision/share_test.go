package decision

import (
	"context"
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func TestBusy_OneTenant(t *testing.T) {
	const most = 4
	entered, leave := make(chan struct{}), make(chan struct{})
	waits := func(context.Context) error {
		entered <- struct{}{}
		<-leave
		return nil
	}
	srv := natstest.Start(t, natstest.Options{NoStreams: true})
	run(t, New(Options{Registry: answers(t, nil, waits), MaxOpen: most}), srv.Connect(t))
	greedy, modest := srv.Connect(t), srv.Connect(t)
	var asked sync.WaitGroup
	for range most / 2 {
		asked.Go(func() { ask(t, greedy, "greedy", ls) })
		<-entered
	}
	if msg := ask(t, greedy, "greedy", rm); msg.Header.Get(subjects.ServiceError) != errBusy.detail {
		t.Errorf("more than its share: got %s", msg.Data)
	}
	if msg := ask(t, modest, "modest", rm); len(msg.Data) == 0 || outcome(t, msg.Data).Verdict != hooks.Deny {
		t.Errorf("another tenant: got %s, %v", msg.Data, msg.Header)
	}
	close(leave)
	asked.Wait()
	if msg := ask(t, greedy, "greedy", rm); len(msg.Data) == 0 || outcome(t, msg.Data).Verdict != hooks.Deny {
		t.Errorf("later: got %s, %v", msg.Data, msg.Header)
	}
}
