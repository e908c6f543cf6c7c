/**
 * Reading what seldom changes, at most so often: whoever asks within a moment
 * of another is given the same answer. A read that fails is not kept.
 */
export function createBrief<Value>(
  read: (key: string) => Promise<Value>,
  keepMs: number,
): (key: string) => Promise<Value> {
  const answers = new Map<string, { at: number; answer: Promise<Value> }>()
  return (key) => {
    const now = performance.now()
    const known = answers.get(key)
    if (known && now - known.at < keepMs) return known.answer
    if (answers.size >= maxKeys) answers.clear()
    const answer = read(key)
    answers.set(key, { at: now, answer })
    answer.catch(() => {
      if (answers.get(key)?.answer === answer) answers.delete(key)
    })
    return answer
  }
}

const maxKeys = 10_000
