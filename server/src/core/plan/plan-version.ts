/** Plan version in which a task's present specification first appeared. A run keeps its first plan, so it is 1. */
export const planVersionOfTask = 1;
