// Written by `publisher install opencode`, which replaces it and, with --uninstall, removes it.
// It tells Hooktrail what happens in OpenCode, and has tool calls decided on.
import { spawn } from "node:child_process"

const hook = {{HOOK}}
const faster = {{FASTER}} // a program that does the same as hook, or ""
const flags = {{FLAGS}}
const patience = {{PATIENCE}} // ms
const failClosed = {{FAIL_CLOSED}}
const missing = {{MISSING}}
const silent = "Blocked: Hooktrail does not answer, and fails closed."

// commandLine returns the command that answers an event.
function commandLine(event) {
  const line = `${hook} ${event} ${flags}`.trim()
  if (faster === "") return line
  return `if command -v ${faster} >/dev/null 2>&1; then ${`${faster} opencode ${event} ${flags}`.trim()}; else ${line}; fi`
}

const pause = 1000 // ms in which a hook command that hung is not run again
const probe = 2000 // ms that it may take after the pause
let hung = 0 // time of the last hang, 0 after an answer
let unanswered = 0 // events since then that no hook command saw

// ask passes a payload to the hook command and returns its answer. Without one it returns
// {failed: "why"}. After a hang it does not wait so long again, and the record says so.
async function ask(event, payload, cwd) {
  if (Date.now() - hung < pause) {
    unanswered++
    return { failed: silent }
  }
  const answer = await run(event, payload, cwd, hung > 0 ? Math.min(patience, probe) : patience)
  if (hung === 0 && unanswered > 0) {
    const properties = { sessionID: payload.input?.sessionID ?? payload.properties?.sessionID, events: unanswered }
    unanswered = 0
    await run("hooktrail.unanswered", { type: "hooktrail.unanswered", properties }, cwd, probe)
  }
  return answer
}

// run runs the hook command. The shell reports a missing program with the status 126 or 127.
function run(event, payload, cwd, limit) {
  return new Promise((resolve) => {
    const child = spawn(commandLine(event), { shell: true, cwd, stdio: ["pipe", "pipe", "ignore"] })
    const said = []
    const started = Date.now()
    const timer = setTimeout(() => {
      // What the shell has started may hold stdout open: nobody waits for its end.
      child.kill()
      child.stdout.destroy()
      child.unref()
      hung = Date.now()
      unanswered++
      end({ failed: silent })
    }, limit)
    const end = (answer) => {
      clearTimeout(timer)
      resolve(answer)
    }
    child.on("error", () => end({ failed: silent }))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => said.push(data))
    child.on("close", (status) => {
      if (Date.now() - started < limit) hung = 0
      if (status !== 0) return end({ failed: status === 126 || status === 127 ? missing : silent })
      try {
        end(JSON.parse(Buffer.concat(said).toString().trim() || "{}"))
      } catch {
        end({ failed: silent })
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

// heed does what an answer says.
function heed(answer, output) {
  for (const [key, value] of Object.entries(answer.output ?? {})) {
    if (key !== "args" || typeof output.args !== "object" || output.args === null) {
      output[key] = value
      continue
    }
    // OpenCode goes on with the object that it passed.
    for (const name of Object.keys(output.args)) delete output.args[name]
    Object.assign(output.args, value)
  }
}

// telling tells which events of the bus are reported: not those that come with each piece of a text.
function telling({ type, properties }) {
  switch (type) {
    case "session.created":
    case "session.deleted":
    case "session.idle":
    case "session.error":
    case "session.compacted":
      return true
    case "message.updated":
      return properties?.info?.role === "assistant" && properties.info.time?.completed !== undefined
    case "message.part.updated":
      return properties?.part?.type === "tool" && properties.part.state?.status === "error"
  }
  return false
}

export const Hooktrail = async ({ directory }) => {
  const told = (event, input, output) => ask(event, { input: { cwd: directory, ...input }, output }, directory)
  let bus = Promise.resolve()
  return {
    event: async ({ event }) => {
      if (telling(event)) bus = bus.then(() => ask(event.type, event, directory))
    },
    "chat.message": async (input, output) => {
      await told("chat.message", input, output)
    },
    "tool.execute.before": async (input, output) => {
      const answer = await told("tool.execute.before", input, output)
      if (answer.deny !== undefined) throw new Error(answer.deny)
      if (answer.failed !== undefined && failClosed) throw new Error(answer.failed)
      heed(answer, output)
    },
    "tool.execute.after": async (input, output) => {
      heed(await told("tool.execute.after", input, output), output)
    },
    "permission.ask": async (input, output) => {
      heed(await told("permission.ask", input, output), output)
    },
  }
}
