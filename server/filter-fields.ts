/** Everything a segment's filter may ask, of whatever room it is. */
import { conversationFields } from './conversations/filter-fields.ts'
import { contactFields, type FilterFields } from './segments/filter.ts'

export const filterFields: FilterFields = { ...contactFields, ...conversationFields }
