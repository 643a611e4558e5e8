// Command hooktrail-capture answers a hook of an agent, and records it if no publisher does. The
// program hooktrail-hook runs it.
package main

import "github.com/hooktrail/hooktrail/internal/command/capture"

func main() { capture.Main() }
