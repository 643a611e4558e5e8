// Command hooktrail-hook answers a hook of an agent. It does the same as the command "publisher
// hook", but starts faster.
package main

import "github.com/hooktrail/hooktrail/internal/command/hook"

func main() { hook.Main() }
