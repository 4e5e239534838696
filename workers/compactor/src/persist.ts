/** An effect on another part of the plane, tried again where it throws. Only for what may be done twice. */

/** An object that moves or a deployment in between is back within seconds. */
const PAUSES_MS: readonly number[] = [500, 3_000];

export async function persist<T>(pause: (ms: number) => Promise<void>, effect: () => Promise<T>): Promise<T> {
  for (const ms of PAUSES_MS) {
    try {
      return await effect();
    } catch {
      await pause(ms);
    }
  }
  return effect();
}
