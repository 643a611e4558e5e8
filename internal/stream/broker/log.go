package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

type serverLogger struct {
	log *slog.Logger

	mu  sync.Mutex // guards err
	err error
}

func (l *serverLogger) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Noticef implements server.Logger.
func (l *serverLogger) Noticef(format string, v ...any) { l.write(slog.LevelDebug, format, v...) }

// Warnf implements server.Logger. It lowers the level of the warning about plain-text passwords,
// because the password of the embedded server is generated.
func (l *serverLogger) Warnf(format string, v ...any) {
	level := slog.LevelWarn
	if strings.HasPrefix(format, "Plaintext passwords detected") {
		level = slog.LevelDebug
	}
	l.write(level, format, v...)
}

// Errorf implements server.Logger.
func (l *serverLogger) Errorf(format string, v ...any) { l.write(slog.LevelError, format, v...) }

// Debugf implements server.Logger.
func (l *serverLogger) Debugf(format string, v ...any) { l.write(slog.LevelDebug, format, v...) }

// Tracef implements server.Logger.
func (l *serverLogger) Tracef(string, ...any) {}

// Fatalf implements server.Logger.
func (l *serverLogger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	l.err = errors.Join(l.err, fmt.Errorf(format, v...))
	l.mu.Unlock()
	l.write(slog.LevelError, format, v...)
}

func (l *serverLogger) write(level slog.Level, format string, v ...any) {
	l.log.Log(context.Background(), level, "embedded broker message", "text", fmt.Sprintf(format, v...))
}
