import { Session } from "@pawl/server/kernel/session.js";
import { WarmTasks } from "@pawl/server/kernel/warm-tasks.js";
import { describe, expect, test } from "vitest";

const one = new Session("one", "default", "w1");
const two = new Session("two", "default", "w2");

const by = (session: Session) => ({
  session,
  leaseVersion: 3,
  incarnation: 1,
  generation: 1,
  seenThrough: 9,
});

describe("what sessions keep warm", () => {
  test("is given out once", () => {
    const warm = new WarmTasks();
    warm.keep(7, 0, by(one));
    expect(warm.take(7, 1)).toBeUndefined();
    expect(warm.take(7, 0)?.session).toBe(one);
    expect(warm.take(7, 0)).toBeUndefined();
  });

  test("belongs to whoever gave the task back last", () => {
    const warm = new WarmTasks();
    warm.keep(7, 0, by(one));
    warm.keep(7, 0, by(two));
    warm.leave(one);
    expect(warm.take(7, 0)?.session).toBe(two);
    expect(warm.size).toBe(0);
  });

  test("goes with its session, and with its task", () => {
    const warm = new WarmTasks();
    warm.keep(7, 0, by(one));
    warm.keep(8, 0, by(one));
    warm.keep(9, 0, by(two));
    warm.forget(7, 0);
    expect(warm.size).toBe(2);
    warm.leave(one);
    expect(warm.size).toBe(1);
    expect(warm.take(8, 0)).toBeUndefined();
    expect(warm.take(9, 0)?.session).toBe(two);
  });

  test("is bounded: of too many the one that waits the longest is forgotten", () => {
    const warm = new WarmTasks(2);
    warm.keep(1, 0, by(one));
    warm.keep(2, 0, by(one));
    warm.keep(1, 0, by(one));
    warm.keep(3, 0, by(one));
    expect(warm.size).toBe(2);
    expect(warm.take(2, 0)).toBeUndefined();
    expect(warm.take(1, 0)?.session).toBe(one);
  });
});
