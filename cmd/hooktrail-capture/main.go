// Command hooktrail-capture does the work that is too large for hooktrail-hook. It answers a hook
// of an agent, and records the event if no publisher does.
package main

import "github.com/hooktrail/hooktrail/internal/command/capture"

func main() { capture.Main() }
